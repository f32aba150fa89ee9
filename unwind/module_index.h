// All that is known about one module: debug information, symbol table, unwind table, Go's table.
// Each is loaded when it is first needed. All addresses are runtime addresses.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/base/types.h"
#include "unwind/debug_info.h"
#include "unwind/function_bounds.h"
#include "unwind/go_table.h"
#include "unwind/modules.h"
#include "unwind/symbolizer.h"

namespace causalctl::unwind {

struct FunctionSymbol {
  Address address = 0;
  std::string symbol;   // as in the file, but without version and clone suffix
  std::string display;  // demangled
};

class ModuleIndex {
 public:
  explicit ModuleIndex(LoadedModule& module) : module_(module) {}

  const MappedFile& file() const { return module_.file; }
  std::string build_id();  // in hexadecimal; empty if there is none
  bool has_lines() { return debug_info().has_lines() || go_table().valid(); }

  // Returns at least one frame, but its fields may be empty.
  std::vector<Frame> frames(Address address);

  // Returns the entries of the functions that `name` fits best (function_name.h). Copies made by
  // compilers (foo.constprop.0), which get only part of the calls, count if nothing else fits, and
  // then functions that only the debug information calls so. Sorted, each once.
  std::vector<FunctionSymbol> find_function(const std::string& name);
  std::vector<LineMatch> find_line(const std::string& file, int line);
  // Nullopt if it is not in the module's code.
  std::optional<Address> runtime_address(std::uint64_t link_time);

  std::optional<std::pair<Address, Address>> function_range(Address address);
  // Returns at most `count` names of functions, nearest first, without arguments.
  std::vector<std::string> similar_functions(const std::string& name, std::size_t count);
  std::vector<std::string> files();  // those with code
  DebugInfo& debug_info();

 private:
  struct Named {
    std::string name;
    Address entry = 0;
  };

  struct Symbol {
    Address address = 0;
    const char* name = nullptr;  // owned by libdw, or by go_functions_
  };

  const std::vector<Symbol>& symbols();
  std::vector<FunctionSymbol> find_by_debug_name(const std::string& name);
  std::optional<Named> symbol_at(Address address);
  std::optional<Named> bounds_at(Address address);  // the name is "memcached+0x1a2b0"
  bool in_linkage_table(Address address);           // true in .plt and its variants
  ElfImage elf_image();
  void load_bounds();
  const GoTable& go_table();
  void add_go_symbols();
  bool name_by_go_table(Address address, Frame& frame);
  bool in_code(Address address) const;

  LoadedModule& module_;
  std::optional<DebugInfo> debug_info_;
  std::optional<std::vector<Symbol>> symbols_;
  std::optional<RangeMap<NoValue>> bounds_;  // link-time addresses
  std::optional<GoTable> go_table_;          // link-time addresses
  std::vector<GoFunction> go_functions_;     // once symbols_ is there
  Address bias_ = 0;                         // of both
};

}  // namespace causalctl::unwind
