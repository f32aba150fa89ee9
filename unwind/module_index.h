// Everything known about one module: debug information, symbol table, unwind table; each loaded
// when first needed. Runtime addresses throughout.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/base/types.h"
#include "unwind/debug_info.h"
#include "unwind/function_bounds.h"
#include "unwind/modules.h"
#include "unwind/symbolizer.h"

namespace causalctl::unwind {

struct FunctionSymbol {
  Address address = 0;
  std::string symbol;   // as in the file, without version and clone suffix
  std::string display;  // demangled
  std::string no_arguments;
  bool is_clone = false;  // foo.constprop.0: only part of foo's calls
};

class ModuleIndex {
 public:
  explicit ModuleIndex(LoadedModule& module) : module_(module) {}

  const MappedFile& file() const { return module_.file; }
  std::string build_id();  // hex; empty: none
  bool has_lines() { return debug_info().has_lines(); }

  // Never empty; the frame may be.
  std::vector<Frame> frames(Address address);

  // Entries of the functions that `name` fits best: whole name (mangled, demangled with or without
  // arguments), else the unqualified name, else compilers' copies of it. Sorted, once each.
  std::vector<FunctionSymbol> find_function(const std::string& name);
  std::vector<LineMatch> find_line(const std::string& file, int line);
  std::optional<Address> runtime_address(std::uint64_t link_time);  // nullopt: not in its code

  std::optional<std::pair<Address, Address>> function_range(Address address);
  std::vector<std::string> function_names();
  DebugInfo& debug_info();

 private:
  struct Named {
    std::string name;
    Address entry = 0;
  };

  const std::vector<FunctionSymbol>& symbols();
  std::optional<Named> symbol_at(Address address);
  std::optional<Named> bounds_at(Address address);  // "memcached+0x1a2b0"
  bool in_linkage_table(Address address);           // .plt and its kin
  void load_bounds();
  bool in_code(Address address) const;

  LoadedModule& module_;
  std::optional<DebugInfo> debug_info_;
  std::optional<std::vector<FunctionSymbol>> symbols_;
  std::optional<RangeMap<NoValue>> bounds_;  // link-time addresses
  Address bias_ = 0;                         // of bounds_
};

}  // namespace causalctl::unwind
