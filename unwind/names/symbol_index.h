// Finds the symbol that dwfl_module_addrinfo() finds, at once: libdwfl reads the whole symbol table
// for each address, which takes milliseconds in a large program.
//
// Source: libdwfl/dwfl_module_addrsym.c of elfutils 0.188. Symbols with a size that contain the
// address come first: global ones before local ones, then those that begin nearest. Where none
// does, or where a label is, one without a size may count; libdwfl itself decides that, once for
// each part of the code in which no symbol and no section begins or ends.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::unwind {

class SymbolIndex {
 public:
  struct Found {
    const char* name = nullptr;  // owned by libdwfl, as long as the module exists
    Address start = 0;
    std::uint64_t size = 0;  // 0 if it has none
  };

  explicit SymbolIndex(Dwfl_Module* module);  // reads the symbol table
  std::optional<Found> find(Address address);

 private:
  struct Symbol {  // with a size
    Address start = 0;
    std::uint64_t size = 0;
    int number = 0;  // in libdwfl's table
    int rank = 0;    // by binding, the better the higher
    bool contains(Address address) const { return address - start < size; }
  };

  void take(int number);
  void add_sections();
  // Returns the best of those that contain the address, or nullptr.
  const Symbol* best(Address address) const;
  bool may_be_label(Address address) const;
  std::optional<Found> by_libdwfl(Address address);

  Dwfl_Module* module_;
  int first_global_ = 0;
  std::vector<Symbol> symbols_;                          // by start
  std::vector<Address> reach_;                           // the largest end of symbols_[0..i]
  std::vector<Address> labels_;                          // starts of symbols without a size, sorted
  std::vector<Address> borders_;                         // where something begins or ends, sorted
  std::map<std::size_t, std::optional<Found>> decided_;  // by the number of the border before
};

}  // namespace causalctl::unwind
