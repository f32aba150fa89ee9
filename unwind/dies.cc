#include "unwind/dies.h"

#include <dwarf.h>

#include <climits>
#include <cstddef>
#include <string_view>

#include "unwind/demangle.h"
#include "unwind/names.h"

namespace causalctl::unwind {
namespace {
constexpr int kMostRanges = 100'000;  // of one DIE; a file with more is damaged
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

// dwarf_decl_file aborts where a unit that link-time optimisation merged has no files.
const char* die_declared_in(Dwarf_Die& die) {
  Dwarf_Attribute value;
  Dwarf_Word index = 0;
  Dwarf_Die unit;
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  if (dwarf_formudata(dwarf_attr_integrate(&die, DW_AT_decl_file, &value), &index) != 0 ||
      dwarf_cu_die(value.cu, &unit, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) ==
          nullptr ||
      dwarf_getsrcfiles(&unit, &files, &count) != 0 || index >= count) {
    return nullptr;
  }
  return dwarf_filesrc(files, index, nullptr, nullptr);
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
  return name != nullptr ? name : "";
}

}  // namespace causalctl::unwind
