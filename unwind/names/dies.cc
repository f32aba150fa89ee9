#include "unwind/names/dies.h"

#include <dwarf.h>

#include <climits>
#include <cstddef>
#include <string_view>

#include "controller/base/paths.h"
#include "unwind/names/demangle.h"
#include "unwind/names/names.h"

namespace causalctl::unwind {
namespace {
constexpr int kMostRanges = 100'000;  // of one DIE; a file with more is damaged
}

std::optional<unsigned> origin_form(Dwarf_Abbrev* abbreviation) {
  std::optional<unsigned> found;
  for_each_attribute(abbreviation, [&](unsigned name, unsigned form) {
    if (name == DW_AT_abstract_origin || name == DW_AT_specification) found = form;
    return !found;
  });
  return found;
}

std::vector<std::pair<Address, Address>> die_ranges(Dwarf_Die& die) {
  std::vector<std::pair<Address, Address>> ranges;
  Dwarf_Addr base = 0;
  Dwarf_Addr low = 0;
  Dwarf_Addr high = 0;
  ptrdiff_t offset = 0;
  while (ranges.size() < kMostRanges &&
         (offset = dwarf_ranges(&die, offset, &base, &low, &high)) > 0) {
    if (low != 0 && low < high) ranges.emplace_back(low, high);
  }
  return ranges;
}

bool die_covers(Dwarf_Die& die, Address address) { return dwarf_haspc(&die, address) > 0; }

bool die_has_code(Dwarf_Die& die) {
  return dwarf_hasattr(&die, DW_AT_low_pc) != 0 || dwarf_hasattr(&die, DW_AT_ranges) != 0;
}

std::optional<int> die_number(Dwarf_Die& die, unsigned attribute) {
  Dwarf_Attribute value;
  Dwarf_Word number = 0;
  if (dwarf_formudata(dwarf_attr(&die, attribute, &value), &number) != 0) return std::nullopt;
  if (number > INT_MAX) return std::nullopt;
  return static_cast<int>(number);
}

const char* die_string(Dwarf_Die& die, unsigned attribute) {
  Dwarf_Attribute value;
  return dwarf_formstring(dwarf_attr(&die, attribute, &value));
}

const char* die_declared_file(Dwarf_Die& die) {
  Dwarf_Attribute value;
  Dwarf_Word index = 0;
  if (dwarf_attr_integrate(&die, DW_AT_decl_file, &value) == nullptr ||
      dwarf_formudata(&value, &index) != 0 || index == 0) {
    return nullptr;
  }
  Dwarf_Die unit;
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  // The number counts in the table of the unit that has the attribute, which may be another one.
  if (dwarf_cu_die(value.cu, &unit, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) ==
          nullptr ||
      dwarf_getsrcfiles(&unit, &files, &count) != 0 || index >= count) {
    return nullptr;
  }
  return dwarf_filesrc(files, index, nullptr, nullptr);
}

Dwarf_Off die_own_unit(Dwarf_Die& die) {
  Dwarf_Attribute value;
  Dwarf_Die unit;
  if (dwarf_attr_integrate(&die, DW_AT_decl_file, &value) == nullptr ||
      dwarf_cu_die(value.cu, &unit, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) ==
          nullptr) {
    return 0;
  }
  const char* file = die_declared_file(die);
  const char* own = die_string(unit, DW_AT_name);
  const char* directory = die_string(unit, DW_AT_comp_dir);
  if (file == nullptr || own == nullptr || directory == nullptr) return 0;
  return normal_path(file, directory) == normal_path(own, directory) ? dwarf_dieoffset(&unit) : 0;
}

std::string die_function_name(Dwarf_Die& die) {
  Dwarf_Attribute value;
  Dwarf_Attribute* linkage = dwarf_attr_integrate(&die, DW_AT_linkage_name, &value);
  if (linkage == nullptr) linkage = dwarf_attr_integrate(&die, DW_AT_MIPS_linkage_name, &value);
  const char* symbol = linkage != nullptr ? dwarf_formstring(linkage) : nullptr;
  const char* name = dwarf_diename(&die);
  // Only a mangled name says more than the plain one; other symbols are private aliases ("__GI_…").
  if (symbol != nullptr && is_mangled(symbol)) {
    std::string demangled = demangle(std::string(split_clone(symbol).base));
    // Rust's legacy mangling gives all closures of a function one name; only a hash differs.
    constexpr std::string_view kClosure = "{{closure}}";
    const std::string_view own = name != nullptr ? name : "";
    if (demangled.ends_with(kClosure) && own.starts_with("{closure")) {
      demangled.replace(demangled.size() - kClosure.size(), kClosure.size(), own);
    }
    return demangled;
  }
  if (name == nullptr) return "";
  // Assemblers give the symbol as the name, as of what ocamlopt has compiled.
  return is_mangled(name) ? demangle(std::string(split_clone(name).base)) : name;
}

}  // namespace causalctl::unwind
