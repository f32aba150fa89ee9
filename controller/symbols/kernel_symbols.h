// The functions of the kernel that runs, by the table that it shows in /proc/kallsyms (proc(5)).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::symbols {

// Pure.
class KernelSymbols {
 public:
  KernelSymbols() = default;  // knows nothing
  // Takes the text of /proc/kallsyms, a line "ADDRESS TYPE NAME [MODULE]" for each symbol. Lines of
  // another form, and symbols that are no code, are passed over. Where the kernel hides addresses
  // from the reader (kernel.kptr_restrict), all are 0 and nothing is known.
  static KernelSymbols parse(std::string_view text);

  bool empty() const { return functions_.empty(); }
  // Returns the name of the function whose code is at the address; empty if it is not known. The
  // view is valid as long as this object. Sizes are not told, so that a function reaches to the
  // next one.
  std::string_view find(Address address) const;
  // Returns that function, and where it ends: where the next one begins. The name is valid as long
  // as this object.
  struct At {
    Address begin = 0, end = 0;
    std::string_view name;
  };
  std::optional<At> function_at(Address address) const;
  // Of the kernel's own code, without modules and what was made later; 0 if it is not told.
  Address text_begin() const { return text_begin_; }
  Address text_end() const { return text_end_; }

 private:
  struct Function {
    Address start = 0;
    std::uint32_t name = 0;  // where it begins in names_
    std::uint32_t size = 0;  // of its name
    std::uint32_t rank = 0;  // among names of one function
  };

  void add_line(std::string_view line);
  std::string_view name_of(const Function& function) const;

  Address text_begin_ = 0, text_end_ = 0;
  std::vector<Function> functions_;  // by their starts
  std::string names_;
};

// Returns whether the function is on the way from user code into the kernel (arch/x86/entry of
// Linux): system calls, interrupts, exceptions. Pure.
bool is_kernel_entry(std::string_view name);

// Reads the table, which takes a tenth of a second. Empty if it cannot be read.
KernelSymbols read_kernel_symbols();

}  // namespace causalctl::symbols
