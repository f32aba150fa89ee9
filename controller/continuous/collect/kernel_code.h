// Where the code of the kernel and of its modules is, so that places in it mean the same after
// another boot, which has them elsewhere. Source: proc(5), /sys/kernel/notes, /sys/module.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/base/types.h"
#include "controller/continuous/record/counts.h"
#include "controller/symbols/kernel_symbols.h"

namespace causalctl::continuous {

struct KernelModule {
  std::string name;
  Address begin = 0;
  std::uint64_t size = 0;
};

// Takes the text of /proc/modules. Modules whose addresses are hidden are left out. Pure.
std::vector<KernelModule> parse_modules(std::string_view text);
// Returns the build-id in the notes of an ELF file, in hexadecimal; empty if there is none. Pure.
std::string build_id_in_notes(std::string_view notes);

class KernelCode {
 public:
  // `build_id` returns that of the kernel (""), or of a module.
  template <typename BuildId>
  KernelCode(symbols::KernelSymbols symbols, std::vector<KernelModule> modules, BuildId build_id)
      : symbols_(std::move(symbols)) {
    begin_ = symbols_.text_begin();
    end_ = symbols_.text_end();
    kernel_ = {ImageKind::kernel, "[kernel]", build_id("")};
    for (KernelModule& module : modules) {
      const std::string id = build_id(module.name);
      modules_[module.begin] = {module.size,
                                Image{ImageKind::module, "[" + std::move(module.name) + "]", id}};
    }
  }

  struct Place {
    Image image;
    Address offset = 0;
    Address function = 0;  // where it begins, as an offset
    Name name = {};        // of it; empty if it is not known
  };
  Place at(Address address) const;

 private:
  struct Module {
    std::uint64_t size = 0;
    Image image;
  };

  symbols::KernelSymbols symbols_;
  Address begin_ = 0, end_ = 0;  // of the kernel's own code; 0: not known
  Image kernel_;
  std::map<Address, Module> modules_;  // by beginning
};

KernelCode read_kernel_code();  // takes a tenth of a second

}  // namespace causalctl::continuous
