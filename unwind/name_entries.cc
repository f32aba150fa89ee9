#include "unwind/name_entries.h"

#include <dwarf.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace causalctl::unwind {
namespace {

// No compiler writes more than this before the name of a function.
constexpr std::ptrdiff_t kMostBefore = 96;

using EntryBytes = const std::uint8_t*;

// Reads a LEB128 number and moves `at` behind it. Returns nullopt if it does not end before `end`.
std::optional<std::uint64_t> read_number(EntryBytes& at, EntryBytes end) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
    const std::uint8_t byte = *at++;
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

// Returns the size of values of a form whose size does not depend on the value.
std::optional<std::ptrdiff_t> fixed_size(unsigned form, int address_size, int offset_size) {
  switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
      return 0;
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
      return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
      return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
      return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
      return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
      return 8;
    case DW_FORM_data16:
      return 16;
    case DW_FORM_addr:
      return address_size;
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_sec_offset:
    case DW_FORM_ref_addr:
    case DW_FORM_GNU_strp_alt:
    case DW_FORM_GNU_ref_alt:
      return offset_size;
    default:
      return std::nullopt;
  }
}

// Moves `at` behind a value of the form. Returns false if it does not end before `end`, or if the
// size of such values is not known.
bool skip(unsigned form, int address_size, int offset_size, EntryBytes& at, EntryBytes end) {
  std::ptrdiff_t size = 0;
  if (const auto fixed = fixed_size(form, address_size, offset_size)) {
    size = *fixed;
  } else if (form == DW_FORM_exprloc || form == DW_FORM_block) {
    const auto length = read_number(at, end);
    if (!length || *length > static_cast<std::uint64_t>(end - at)) return false;
    size = static_cast<std::ptrdiff_t>(*length);
  } else if (form == DW_FORM_block1 && at < end) {
    size = 1 + *at;
  } else if (form == DW_FORM_string) {
    at = std::find(at, end, 0);
    size = 1;
  } else if (!read_number(at, end)) {  // the other forms that is_known() lets pass
    return false;
  }
  if (size > end - at) return false;
  at += size;
  return true;
}

bool is_known(unsigned form) {
  switch (form) {
    case DW_FORM_exprloc:
    case DW_FORM_block:
    case DW_FORM_block1:
    case DW_FORM_string:
    case DW_FORM_udata:
    case DW_FORM_sdata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
      return true;
    default:
      return fixed_size(form, 8, 4).has_value();
  }
}

// Puts the forms of the attributes before the name into `forms`. Returns false if no such entry is
// the origin of a copy: its name is no offset in .debug_str, or it is neither a function that was
// inlined (DW_AT_inline) nor the declaration of one.
bool forms_before_name(Dwarf_Abbrev* abbreviation, std::vector<unsigned>& forms) {
  std::size_t count = 0;
  dwarf_getattrcnt(abbreviation, &count);
  bool has_name = false;
  bool may_be_origin = false;
  for (std::size_t i = 0; i < count; ++i) {
    unsigned name = 0;
    unsigned form = 0;
    // libdw 0.188 counts too many attributes where constants are in the abbreviation.
    if (dwarf_getabbrevattr(abbreviation, i, &name, &form, nullptr) != 0) break;
    if (name == DW_AT_name && form != DW_FORM_strp) return false;
    has_name = has_name || name == DW_AT_name;
    may_be_origin = may_be_origin || name == DW_AT_inline || name == DW_AT_declaration;
    if (!has_name) forms.push_back(form);
  }
  return has_name && may_be_origin;
}

// Returns whether entries with this abbreviation refer to their origin, if they do, by its offset
// in the unit, as gcc's and clang's do.
bool origin_is_offset(Dwarf_Abbrev* abbreviation) {
  std::size_t count = 0;
  dwarf_getattrcnt(abbreviation, &count);
  for (std::size_t i = 0; i < count; ++i) {
    unsigned name = 0;
    unsigned form = 0;
    if (dwarf_getabbrevattr(abbreviation, i, &name, &form, nullptr) != 0) break;
    const bool is_origin = name == DW_AT_abstract_origin || name == DW_AT_specification;
    if (is_origin && form != DW_FORM_ref4) return false;
  }
  return true;
}

}  // namespace

NameEntries::NameEntries(Dwarf_Die& unit)
    : begin_(static_cast<EntryBytes>(unit.addr)), begin_offset_(dwarf_dieoffset(&unit)) {
  Dwarf_Die root;
  if (dwarf_cu_die(unit.cu, &root, nullptr, nullptr, &address_size_, &offset_size_, nullptr,
                   nullptr) == nullptr ||
      offset_size_ != 4) {
    return;
  }
  header_ = begin_ - dwarf_cuoffset(&unit);
  std::uint32_t length = 0;
  std::memcpy(&length, header_, sizeof length);
  end_ = header_ + sizeof length + length;
  read_abbreviations(unit);
}

void NameEntries::read_abbreviations(Dwarf_Die& unit) {
  Dwarf_Off at = 0;
  for (;;) {
    std::size_t length = 0;
    Dwarf_Abbrev* abbreviation = dwarf_getabbrev(&unit, at, &length);
    if (abbreviation == nullptr) return;
    if (abbreviation == DWARF_END_ABBREV) break;
    at += length;
    refers_by_offset_ = refers_by_offset_ && origin_is_offset(abbreviation);
    std::vector<unsigned> forms;
    if (dwarf_getabbrevtag(abbreviation) != DW_TAG_subprogram) continue;
    if (!forms_before_name(abbreviation, forms)) continue;
    if (!std::all_of(forms.begin(), forms.end(), is_known)) return;
    before_[dwarf_getabbrevcode(abbreviation)] = std::move(forms);
  }
  readable_ = true;
}

bool NameEntries::may_name(Dwarf_Off mention, bool referred_to) const {
  if (!readable_ || mention < begin_offset_) return true;
  const EntryBytes at = begin_ + (mention - begin_offset_);
  if (at >= end_) return true;
  for (EntryBytes entry = at - std::min(at - begin_, kMostBefore); entry < at; ++entry) {
    if (names_at(entry, at) && (!referred_to || is_referred_to(entry))) return true;
  }
  return false;
}

bool NameEntries::is_referred_to(EntryBytes entry) const {
  if (!refers_by_offset_) return true;
  const auto offset = static_cast<std::uint32_t>(entry - header_);
  return memmem(begin_, static_cast<std::size_t>(end_ - begin_), &offset, sizeof offset) != nullptr;
}

// Returns whether the name of an entry that began there would stand at `mention`.
bool NameEntries::names_at(EntryBytes entry, EntryBytes mention) const {
  const auto code = read_number(entry, mention);
  const auto found = code ? before_.find(*code) : before_.end();
  if (found == before_.end()) return false;
  for (const unsigned form : found->second) {
    if (!skip(form, address_size_, offset_size_, entry, mention)) return false;
  }
  return entry == mention;
}

}  // namespace causalctl::unwind
