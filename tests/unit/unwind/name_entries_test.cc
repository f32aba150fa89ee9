#include "unwind/names/name_entries.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>

#include "controller/base/fd.h"

namespace causalctl::unwind {
namespace {

struct Counts {
  std::size_t origins = 0;   // functions that were inlined
  std::size_t by_index = 0;  // those with another kind of name, as clang writes it
  std::size_t refused = 0;   // of the former: whose name may_name() does not see
  std::size_t places = 0;    // in the unit
  std::size_t taken = 0;     // of these: that may be a name
};

void check_origin(Dwarf_Die& copy, Dwarf_Die& unit, const NameEntries& entries, Counts& counts) {
  Dwarf_Attribute value;
  Dwarf_Die origin;
  if (dwarf_formref_die(dwarf_attr(&copy, DW_AT_abstract_origin, &value), &origin) == nullptr ||
      origin.cu != unit.cu || dwarf_attr_integrate(&origin, DW_AT_name, &value) == nullptr ||
      value.cu != unit.cu) {
    return;
  }
  if (dwarf_whatform(&value) != DW_FORM_strp) {
    ++counts.by_index;
    return;
  }
  const auto distance = value.valp - static_cast<const unsigned char*>(unit.addr);
  ++counts.origins;
  if (!entries.may_name(dwarf_dieoffset(&unit) + static_cast<Dwarf_Off>(distance), true)) {
    ++counts.refused;
  }
}

void check_origins(Dwarf_Die& parent, Dwarf_Die& unit, const NameEntries& entries, Counts& counts) {
  Dwarf_Die child;
  if (dwarf_child(&parent, &child) != 0) return;
  do {
    if (dwarf_tag(&child) == DW_TAG_inlined_subroutine) {
      check_origin(child, unit, entries, counts);
    }
    check_origins(child, unit, entries, counts);
  } while (dwarf_siblingof(&child, &child) == 0);
}

TEST_CASE("names of inlined functions are told from other bytes") {
  const Fd file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  Dwarf* dwarf = dwarf_begin(file.get(), DWARF_C_READ);
  REQUIRE(dwarf != nullptr);
  Counts counts;
  std::size_t header = 0;
  Dwarf_Off next = 0;
  for (Dwarf_Off at = 0, units = 0;
       units < 100 && dwarf_nextcu(dwarf, at, &next, &header, nullptr, nullptr, nullptr) == 0;
       at = next, ++units) {
    Dwarf_Die unit;
    REQUIRE(dwarf_offdie(dwarf, at + header, &unit) != nullptr);
    const NameEntries entries(unit, next);
    check_origins(unit, unit, entries, counts);
    const Dwarf_Off end = std::min<Dwarf_Off>(next, at + 2'000);
    for (Dwarf_Off place = at + header; place < end; ++place) {
      ++counts.places;
      if (entries.may_name(place, true)) ++counts.taken;
    }
  }
  CAPTURE(counts.origins, counts.by_index, counts.taken, counts.places);
  CHECK(counts.origins + counts.by_index > 500);
  CHECK(counts.refused == 0);
  CHECK(counts.taken * 20 < counts.places);
  dwarf_end(dwarf);
}

}  // namespace
}  // namespace causalctl::unwind
