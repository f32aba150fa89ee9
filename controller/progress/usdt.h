// SystemTap/USDT probes: the notes that <sys/sdt.h> leaves in an ELF file.
//
// Source: https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation. A probe is a nop in
// the code and a note (section .note.stapsdt, owner "stapsdt", type 3) holding three addresses
//   pc · base · semaphore     (semaphore 0: none)
// and three strings provider · name · arguments. prelink may have moved the file after the notes
// were written. Section .stapsdt.base is then no longer at `base`, and all addresses move by the
// difference. The program skips computing a probe's arguments while its semaphore is 0, so a tool
// that attaches must let the kernel increment it (the uprobe's ref_ctr_offset, a *file* offset).
//
// Files are untrusted: nothing in a note is used before its bounds are checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "controller/progress/image.h"

namespace causalctl::progress {

struct UsdtNote {  // fields as they are written in the file
  std::uint64_t pc = 0;
  std::uint64_t base = 0;
  std::uint64_t semaphore = 0;
  std::string provider;
  std::string name;
  std::string arguments;
};

// Parses the content of a .note.stapsdt section, 64-bit little-endian. Ends at the first malformed
// note; skips notes of other owners. Pure.
std::vector<UsdtNote> parse_usdt_notes(std::span<const std::byte> section);

// Returns link-time addresses, moved to where .stapsdt.base is in this file.
std::vector<UsdtNote> read_usdt_notes(Elf* elf);

struct UsdtSite {  // one place of one probe in the target
  std::string provider;
  std::string name;
  Address address = 0;
  std::uint64_t semaphore_offset = 0;  // offset in the file; 0 if it has no semaphore
};

// Returns all probes in the target's mapped files. Throws TargetGone.
std::vector<UsdtSite> usdt_sites(Pid target);

}  // namespace causalctl::progress
