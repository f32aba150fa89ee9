// ELF files as they are mapped into the target. Tells how file offsets, link-time addresses (those
// of symbols and notes) and run-time addresses of one file are related, and by which path this
// process can open the file, which may be deleted or in another mount namespace.
//
//   run-time address = link-time address + bias            (ELF gABI, "Program Loading")
//   file offset      = link-time address - p_vaddr + p_offset of its PT_LOAD segment
#pragma once

#include <libelf.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/fd.h"
#include "controller/base/procfs.h"
#include "controller/base/types.h"

namespace causalctl::progress {

struct Segment {  // one PT_LOAD
  std::uint64_t offset = 0;
  std::uint64_t file_size = 0;
  std::uint64_t address = 0;  // link-time
  bool executable = false;
};

struct Image {
  std::string path;      // as in the maps of the target, without " (deleted)"
  std::string readable;  // a path by which we can open it
  Address bias = 0;
  std::vector<Segment> segments;

  std::optional<std::uint64_t> file_offset(std::uint64_t link_address) const;
};

// An ELF file open for reading; libelf reads only the parts that are asked for.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path);  // get() is null if it cannot be read as ELF
  Elf* get() const { return elf_.get(); }

 private:
  Fd file_;
  std::unique_ptr<Elf, int (*)(Elf*)> elf_;
};

std::vector<Segment> read_segments(Elf* elf);

// Returns every file that is mapped executable, except those that cannot be read. Throws
// TargetGone.
std::vector<Image> mapped_images(Pid target);

struct FilePlace {
  std::string readable;  // a path by which we can open it
  std::string module;    // as Image::path
  std::uint64_t offset = 0;
};

// Returns the file behind an executable address, or nullopt if it is not executable or backed by no
// file.
std::optional<FilePlace> file_place(Pid target, Address address);

}  // namespace causalctl::progress
