#include "unwind/names/indirect.h"

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string_view>

#include "unwind/modules/target_memory.h"

namespace causalctl::unwind {
namespace {

struct Section {
  GElf_Shdr header;
  Elf_Data* data = nullptr;
};

template <typename Visit>
void for_each_section(Elf* elf, Visit visit) {
  Elf_Scn* scn = nullptr;
  while (elf != nullptr && (scn = elf_nextscn(elf, scn)) != nullptr) {
    Section section;
    if (gelf_getshdr(scn, &section.header) == nullptr || section.header.sh_type == SHT_NOBITS) {
      continue;
    }
    visit(scn, section);
  }
}

std::optional<Section> section_at(Elf* elf, std::size_t index) {
  Section section;
  Elf_Scn* scn = elf_getscn(elf, index);
  if (scn == nullptr || gelf_getshdr(scn, &section.header) == nullptr) return std::nullopt;
  section.data = elf_getdata(scn, nullptr);
  return section.data != nullptr ? std::optional(section) : std::nullopt;
}

std::string symbol_name(Elf* elf, const Section& symbols, std::size_t index) {
  GElf_Sym symbol;
  if (gelf_getsym(symbols.data, static_cast<int>(index), &symbol) == nullptr) return {};
  const char* name = elf_strptr(elf, symbols.header.sh_link, symbol.st_name);
  return name != nullptr ? name : "";
}

bool is_slot(std::size_t type) {
  return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_64;
}

void add_slots(Elf* elf, Elf_Scn* scn, const GElf_Shdr& header, Address bias, Pid target,
               const std::string& wanted, std::vector<BoundSlot>& slots) {
  Elf_Data* data = elf_getdata(scn, nullptr);
  const auto symbols = section_at(elf, header.sh_link);
  if (data == nullptr || header.sh_entsize == 0) return;
  const auto count = static_cast<int>(header.sh_size / header.sh_entsize);
  for (int i = 0; i < count; ++i) {
    GElf_Rela entry;
    if (gelf_getrela(data, i, &entry) == nullptr) return;
    const auto type = GELF_R_TYPE(entry.r_info);
    BoundSlot slot;
    if (type == R_X86_64_IRELATIVE) {
      slot.resolver = static_cast<Address>(entry.r_addend);
    } else if (is_slot(type) && symbols) {
      slot.symbol = symbol_name(elf, *symbols, GELF_R_SYM(entry.r_info));
      if (slot.symbol != wanted) continue;
    } else {
      continue;
    }
    slot.address = entry.r_offset + bias;
    if (!read_target(target, slot.address, std::as_writable_bytes(std::span(&slot.value, 1)))) {
      continue;
    }
    slots.push_back(std::move(slot));
  }
}

// Returns the versions that the file defines, by their numbers in .gnu.version.
std::map<unsigned, std::string> defined_versions(Elf* elf) {
  std::map<unsigned, std::string> versions;
  for_each_section(elf, [&](Elf_Scn* scn, const Section& section) {
    if (section.header.sh_type != SHT_GNU_verdef) return;
    Elf_Data* data = elf_getdata(scn, nullptr);
    int at = 0;
    GElf_Verdef definition;
    while (data != nullptr && gelf_getverdef(data, at, &definition) != nullptr) {
      GElf_Verdaux name;
      const int names = at + static_cast<int>(definition.vd_aux);
      if (gelf_getverdaux(data, names, &name) != nullptr) {
        const char* text = elf_strptr(elf, section.header.sh_link, name.vda_name);
        if (text != nullptr) versions.emplace(definition.vd_ndx, text);
      }
      if (definition.vd_next == 0) break;
      at += static_cast<int>(definition.vd_next);
    }
  });
  return versions;
}

}  // namespace

std::vector<BoundSlot> bound_slots(Elf* elf, Address bias, Pid target, const std::string& symbol) {
  std::vector<BoundSlot> slots;
  for_each_section(elf, [&](Elf_Scn* scn, const Section& section) {
    if (section.header.sh_type != SHT_RELA || (section.header.sh_flags & SHF_ALLOC) == 0) return;
    add_slots(elf, scn, section.header, bias, target, symbol, slots);
  });
  return slots;
}

std::vector<SymbolVersion> versions_of(Elf* elf, const std::string& name) {
  std::vector<SymbolVersion> found;
  const auto versions = defined_versions(elf);
  for_each_section(elf, [&](Elf_Scn* scn, const Section& section) {
    if (section.header.sh_type != SHT_GNU_versym) return;
    Elf_Data* data = elf_getdata(scn, nullptr);
    const auto symbols = section_at(elf, section.header.sh_link);
    if (data == nullptr || !symbols) return;
    for (int i = 1;; ++i) {
      GElf_Versym number = 0;
      GElf_Sym symbol;
      if (gelf_getversym(data, i, &number) == nullptr) return;
      if (gelf_getsym(symbols->data, i, &symbol) == nullptr) return;
      constexpr unsigned kHidden = 0x8000;
      const auto version = versions.find(number & ~kHidden);
      if (version == versions.end() || symbol.st_shndx == SHN_UNDEF) continue;
      if (symbol_name(elf, *symbols, static_cast<std::size_t>(i)) != name) continue;
      found.push_back({symbol.st_value, version->second, (number & kHidden) == 0});
    }
  });
  return found;
}

}  // namespace causalctl::unwind
