// Small readers of DWARF DIEs, which also withstand damaged files.
#pragma once

#include <elfutils/libdw.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::unwind {

// A file with deeper nesting is damaged: recursion stops.
inline constexpr int kDeepestDie = 200;

// A walk through a tree, in the order in which its DIEs stand in the file. In a damaged file a
// sibling reference may point backwards, which would loop for ever, or into a subtree that was
// walked already, which would double the work at each level. Such a reference ends the walk of the
// siblings.
class DieWalk {
 public:
  // Calls visit(child) for each child until it returns false; visit may walk the child's children.
  template <typename Visit>
  void for_each_child(Dwarf_Die& parent, Visit visit) {
    Dwarf_Die child;
    if (dwarf_child(&parent, &child) != 0) return;
    while (dwarf_dieoffset(&child) > reached_) {
      reached_ = dwarf_dieoffset(&child);
      if (!visit(child)) return;
      Dwarf_Die next;
      if (dwarf_siblingof(&child, &next) != 0) return;
      child = next;
    }
  }

 private:
  Dwarf_Off reached_ = 0;
};

// Returns the link-time ranges [low, high) of the DIE without those that the linker dropped
// (address 0).
std::vector<std::pair<Address, Address>> die_ranges(Dwarf_Die& die);
bool die_covers(Dwarf_Die& die, Address address);  // `address` is a link-time address
bool die_has_code(Dwarf_Die& die);                 // true if it has addresses of its own
std::optional<int> die_number(Dwarf_Die& die, unsigned attribute);
// Nullptr if there is none; owned by libdw.
const char* die_string(Dwarf_Die& die, unsigned attribute);
// The file that the DIE, or what it is a copy of, is declared in; nullptr if unknown; owned by
// libdw. dwarf_decl_file() would abort where a unit of split DWARF has no table of files.
const char* die_declared_file(Dwarf_Die& die);
// Returns the offset of the unit whose own source file the DIE, or what it is a copy of, is
// declared in; 0 if that is a header.
Dwarf_Off die_own_unit(Dwarf_Die& die);
std::string die_function_name(Dwarf_Die& die);  // demangled; empty if unknown

}  // namespace causalctl::unwind
