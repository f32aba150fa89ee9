// Small readers of DWARF DIEs, hardened against damaged files.
#pragma once

#include <elfutils/libdw.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::unwind {

// Nesting beyond this is a damaged file: recursion stops.
inline constexpr int kDeepestDie = 200;

// Calls visit(child) for each child until it returns false. A sibling reference that points
// backwards (a damaged file) ends the walk instead of looping for ever.
template <typename Visit>
void for_each_child(Dwarf_Die& parent, Visit visit) {
  Dwarf_Die child;
  if (dwarf_child(&parent, &child) != 0) return;
  for (;;) {
    if (!visit(child)) return;
    Dwarf_Die next;
    if (dwarf_siblingof(&child, &next) != 0) return;
    if (dwarf_dieoffset(&next) <= dwarf_dieoffset(&child)) return;
    child = next;
  }
}

// Link-time [low, high) of the DIE; what the linker dropped (address 0) is left out.
std::vector<std::pair<Address, Address>> die_ranges(Dwarf_Die& die);
bool die_covers(Dwarf_Die& die, Address address);  // link-time address
bool die_has_code(Dwarf_Die& die);                 // carries addresses of its own
std::optional<int> die_number(Dwarf_Die& die, unsigned attribute);
const char* die_string(Dwarf_Die& die, unsigned attribute);  // nullptr: none; libdw's
std::string die_function_name(Dwarf_Die& die);               // demangled; empty: unknown

}  // namespace causalctl::unwind
