// Small readers of DWARF DIEs, which also withstand damaged files.
#pragma once

#include <elfutils/libdw.h>

#include <cstddef>
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

// Calls visit(abbreviation) for the abbreviations of a unit until it returns false. Returns whether
// it came to their end, which a damaged table does not have.
template <typename Visit>
bool for_each_abbreviation(Dwarf_Die& unit, Visit visit) {
  std::size_t length = 0;
  for (Dwarf_Off at = 0;; at += length) {
    Dwarf_Abbrev* abbreviation = dwarf_getabbrev(&unit, at, &length);
    if (abbreviation == nullptr) return false;
    if (abbreviation == DWARF_END_ABBREV) return true;
    if (!visit(abbreviation)) return false;
  }
}

// Calls visit(name, form) for the attributes of an abbreviation until it returns false.
template <typename Visit>
void for_each_attribute(Dwarf_Abbrev* abbreviation, Visit visit) {
  std::size_t count = 0;
  dwarf_getattrcnt(abbreviation, &count);
  for (std::size_t i = 0; i < count; ++i) {
    unsigned name = 0;
    unsigned form = 0;
    // libdw 0.188 counts too many attributes where constants are in the abbreviation.
    if (dwarf_getabbrevattr(abbreviation, i, &name, &form, nullptr) != 0) return;
    if (!visit(name, form)) return;
  }
}

// Returns the form of the reference from entries with this abbreviation to what they are a copy or
// the definition of; nullopt if they have none.
std::optional<unsigned> origin_form(Dwarf_Abbrev* abbreviation);

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
