// Indirect functions (STT_GNU_IFUNC): a resolver chooses the version that is called in a process,
// when the loader relocates the slots through which it is called. Sources: System V ABI for x86-64,
// "Relocation Types"; the ifunc ABI supplement.
#pragma once

#include <gelf.h>

#include <string>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::unwind {

struct BoundSlot {
  Address address = 0;   // of the slot itself
  Address resolver = 0;  // link-time address of the resolver; 0 if the slot names a symbol
  std::string symbol;    // without version; empty if the slot names a resolver
  Address value = 0;     // where calls through the slot go in this process
};

// Reads the slots that name a resolver, or the symbol, from the target's memory. `bias` is that of
// the module whose relocations `elf` has. A slot that is not bound yet leads to the module's own
// linkage table.
std::vector<BoundSlot> bound_slots(Elf* elf, Address bias, Pid target, const std::string& symbol);

struct SymbolVersion {
  Address address = 0;  // at link time
  std::string version;  // "GLIBC_2.14"
  bool is_default = false;

  std::string suffix() const { return (is_default ? "@@" : "@") + version; }
};

// Returns the versions of the dynamic symbols with this name that the file defines.
std::vector<SymbolVersion> versions_of(Elf* elf, const std::string& name);

}  // namespace causalctl::unwind
