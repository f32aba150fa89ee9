// All that is known about one module: debug information, symbol table, unwind table, Go's table.
// Each is loaded when it is first needed. All addresses are runtime addresses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/base/types.h"
#include "unwind/modules/modules.h"
#include "unwind/names/debug_info.h"
#include "unwind/names/indirect.h"
#include "unwind/names/names.h"
#include "unwind/names/symbol_index.h"
#include "unwind/names/symbolizer.h"
#include "unwind/tables/function_bounds.h"
#include "unwind/tables/go_table.h"

namespace causalctl::unwind {

struct FunctionSymbol {
  // An indirect function has the address of its resolver. Untyped is a label in code that nothing
  // says to be a function, as in assembly without .type.
  enum class Kind : std::uint8_t { function, indirect, untyped };
  Address address = 0;
  std::string symbol;   // as in the file, but without version and clone suffix
  std::string display;  // demangled
  std::string suffix;   // ".constprop.0" of foo.constprop.0, which gets part of foo's calls
  Kind kind = Kind::function;
  bool local = false;  // no other file can use the symbol

  // A part split off is called from the function itself, and from its inlined copies.
  bool is_part() const { return suffix.find(".part.") != std::string::npos; }
};

// A symbol without its version, and the suffix of a copy.
CloneName plain_symbol(std::string_view symbol);

class ModuleIndex {
 public:
  explicit ModuleIndex(LoadedModule& module) : module_(module) {}

  const MappedFile& file() const { return module_.file; }
  std::string build_id();  // in hexadecimal; empty if there is none
  bool has_lines() { return debug_info().has_lines() || go_table().valid(); }

  // Returns at least one frame, but its fields may be empty.
  std::vector<Frame> frames(Address address);

  // Returns the entries of the functions that `name` fits best (function_name.h). Copies made by
  // compilers (foo.constprop.0) are entries of foo as well; a symbol with its suffix is that symbol
  // alone; "f@V1" and "f@@V1" are f of that version. So are the thunks of f, which may have a copy
  // of its body, and other functions that are f in the source (f.0, f.3). If nothing fits: labels
  // without a type, then functions that only the debug information calls so. Sorted, each once.
  std::vector<FunctionSymbol> find_function(const std::string& name);
  // Returns the versions of an indirect function that the compiler made (f.avx2, f.default).
  std::vector<FunctionSymbol> target_clones(const FunctionSymbol& indirect);
  // Returns "@@GLIBC_2.14", or empty if the symbol has no version.
  std::string version_of(const FunctionSymbol& function);
  // Returns the slots through which this module calls indirect functions of its own, and `symbol`.
  std::vector<BoundSlot> slots(const std::string& symbol);
  // Returns the demangled names of functions that begin at the address.
  std::vector<std::string> names_at(Address address);
  // Returns all symbols with this address, mangled.
  std::vector<std::string> symbols_at(Address address);
  std::vector<FunctionSymbol> indirect_functions();
  // Returns functions without debug information, demangled, apart from those of C's start-up code.
  std::vector<std::string> undescribed_functions();
  Address link_time(Address address);
  std::vector<LineMatch> find_line(const std::string& file, int line);
  // Nullopt if it is not in the module's code.
  std::optional<Address> runtime_address(std::uint64_t link_time);

  bool in_linkage_table(Address address);  // true in .plt and its variants
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
    FunctionSymbol::Kind kind = FunctionSymbol::Kind::function;
    bool local = false;
  };
  static FunctionSymbol described(const Symbol& symbol);

  const std::vector<Symbol>& symbols();
  // Adds the thunks of the functions: virtual calls enter f through them.
  void add_thunks(std::vector<FunctionSymbol>& functions);
  std::vector<FunctionSymbol> find_by_debug_name(const std::string& name);
  SymbolIndex& symbol_index();
  std::optional<Named> symbol_at(Address address);
  std::optional<Named> bounds_at(Address address);  // the name is "memcached+0x1a2b0"
  ElfImage elf_image();
  void load_bounds();
  const GoTable& go_table();
  void add_go_symbols();
  bool name_by_go_table(Address address, Frame& frame);
  std::vector<FunctionSymbol> find_version(const std::string& name, std::size_t at);
  // Returns the symbols for which fits(symbol, its CloneName) is true. Sorted, each once.
  template <typename Fits>
  std::vector<FunctionSymbol> select(Fits fits);
  bool in_code(Address address) const;

  LoadedModule& module_;
  std::optional<DebugInfo> debug_info_;
  std::optional<std::vector<Symbol>> symbols_;
  std::optional<SymbolIndex> symbol_index_;
  std::optional<RangeMap<NoValue>> bounds_;  // link-time addresses
  std::optional<GoTable> go_table_;          // link-time addresses
  std::vector<GoFunction> go_functions_;     // once symbols_ is there
  Address bias_ = 0;                         // of both
};

}  // namespace causalctl::unwind
