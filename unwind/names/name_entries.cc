#include "unwind/names/name_entries.h"

#include <dwarf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "controller/base/byte_reader.h"
#include "unwind/names/dies.h"

namespace causalctl::unwind {
namespace {

// No compiler writes more than this before the name of a function.
constexpr std::ptrdiff_t kMostBefore = 96;

using EntryBytes = const std::uint8_t*;

// Reads a LEB128 number and moves `at` behind it. Returns nullopt if it does not end before `end`.
std::optional<std::uint64_t> read_number(EntryBytes& at, EntryBytes end) {
  ByteReader reader(std::as_bytes(std::span(at, end)));
  const std::uint64_t value = reader.uleb();
  if (reader.failed()) return std::nullopt;
  at = end - reader.rest().size();
  return value;
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
  bool has_name = false;
  bool is_offset = false;
  bool may_be_origin = false;
  for_each_attribute(abbreviation, [&](unsigned name, unsigned form) {
    if (name == DW_AT_name) is_offset = form == DW_FORM_strp;
    has_name = has_name || name == DW_AT_name;
    may_be_origin = may_be_origin || name == DW_AT_inline || name == DW_AT_declaration;
    if (!has_name) forms.push_back(form);
    return true;
  });
  return is_offset && may_be_origin;
}

}  // namespace

NameEntries::NameEntries(Dwarf_Die& unit, std::size_t info_size)
    : begin_(static_cast<EntryBytes>(unit.addr)), begin_offset_(dwarf_dieoffset(&unit)) {
  Dwarf_Die root;
  const Dwarf_Off to_header = dwarf_cuoffset(&unit);
  std::uint32_t length = 0;
  if (dwarf_cu_die(unit.cu, &root, nullptr, nullptr, &address_size_, &offset_size_, nullptr,
                   nullptr) == nullptr ||
      offset_size_ != sizeof length || begin_offset_ > info_size) {
    return;
  }
  header_ = begin_ - to_header;
  std::memcpy(&length, header_, sizeof length);
  const std::size_t room = info_size - (begin_offset_ - to_header);
  end_ = header_ + std::min(sizeof length + length, room);  // a damaged file may claim more
  readable_ = read_abbreviations(unit);
}

// Returns false if an entry may have what cannot be skipped before its name.
bool NameEntries::read_abbreviations(Dwarf_Die& unit) {
  return for_each_abbreviation(unit, [this](Dwarf_Abbrev* abbreviation) {
    if (origin_form(abbreviation).value_or(DW_FORM_ref4) != DW_FORM_ref4) refers_by_offset_ = false;
    std::vector<unsigned> forms;
    if (dwarf_getabbrevtag(abbreviation) != DW_TAG_subprogram) return true;
    if (!forms_before_name(abbreviation, forms)) return true;
    if (!std::all_of(forms.begin(), forms.end(), is_known)) return false;
    before_[dwarf_getabbrevcode(abbreviation)] = std::move(forms);
    return true;
  });
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
