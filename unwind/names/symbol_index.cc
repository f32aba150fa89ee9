#include "unwind/names/symbol_index.h"

#include <algorithm>

namespace causalctl::unwind {
namespace {

int rank_of(const GElf_Sym& entry) {
  switch (GELF_ST_BIND(entry.st_info)) {
    case STB_GLOBAL:
      return 3;
    case STB_WEAK:
      return 2;
    case STB_LOCAL:
      return 1;
    default:
      return 0;
  }
}

bool may_name_code(const GElf_Sym& entry) {
  const int type = GELF_ST_TYPE(entry.st_info);
  return type != STT_SECTION && type != STT_FILE && type != STT_TLS;
}

}  // namespace

SymbolIndex::SymbolIndex(Dwfl_Module* module) : module_(module) {
  const int count = dwfl_module_getsymtab(module);
  first_global_ = std::max(dwfl_module_getsymtab_first_global(module), 0);
  for (int number = 1; number < count; ++number) take(number);
  std::stable_sort(symbols_.begin(), symbols_.end(),
                   [](const Symbol& a, const Symbol& b) { return a.start < b.start; });
  Address reach = 0;
  for (const Symbol& each : symbols_) {
    // The size in a damaged file may lead beyond the last address.
    const Address end = each.start + each.size;
    reach = std::max(reach, end < each.start ? ~Address{0} : end);
    reach_.push_back(reach);
  }
  std::sort(labels_.begin(), labels_.end());
  if (labels_.empty()) return;
  for (const Symbol& each : symbols_) {
    borders_.push_back(each.start);
    borders_.push_back(each.start + each.size);
  }
  for (const Address label : labels_) {
    borders_.push_back(label);
    borders_.push_back(label + 1);  // an absolute one counts at its own address only
  }
  add_sections();
  std::sort(borders_.begin(), borders_.end());
  borders_.erase(std::unique(borders_.begin(), borders_.end()), borders_.end());
}

void SymbolIndex::take(int number) {
  GElf_Sym entry;
  GElf_Addr start = 0;
  GElf_Word section = 0;
  const char* name =
      dwfl_module_getsym_info(module_, number, &entry, &start, &section, nullptr, nullptr);
  if (name == nullptr || *name == 0 || section == SHN_UNDEF || !may_name_code(entry)) return;
  if (entry.st_size == 0) {
    labels_.push_back(start);
  } else {
    symbols_.push_back({start, entry.st_size, number, rank_of(entry)});
  }
}

void SymbolIndex::add_sections() {
  GElf_Addr bias = 0;
  Elf* elf = dwfl_module_getelf(module_, &bias);
  for (Elf_Scn* each = nullptr; elf != nullptr && (each = elf_nextscn(elf, each)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(each, &header) == nullptr || (header.sh_flags & SHF_ALLOC) == 0) continue;
    borders_.push_back(header.sh_addr + bias);
    const Address end = header.sh_addr + header.sh_size + bias;
    borders_.push_back(end);
    borders_.push_back(end + 1);  // libdwfl counts the end as inside
  }
}

const SymbolIndex::Symbol* SymbolIndex::best(Address address) const {
  const auto after =
      std::upper_bound(symbols_.begin(), symbols_.end(), address,
                       [](Address wanted, const Symbol& each) { return wanted < each.start; });
  std::vector<const Symbol*> candidates;
  for (auto i = static_cast<std::size_t>(after - symbols_.begin()); i-- > 0;) {
    if (reach_[i] <= address) break;
    if (symbols_[i].contains(address)) candidates.push_back(&symbols_[i]);
  }
  // Which one libdwfl takes depends on their order in its table, with all global ones first.
  std::sort(candidates.begin(), candidates.end(), [&](const Symbol* a, const Symbol* b) {
    const bool a_local = a->number < first_global_;
    const bool b_local = b->number < first_global_;
    return a_local != b_local ? b_local : a->number < b->number;
  });
  const Symbol* best = nullptr;
  for (const Symbol* each : candidates) {
    if (best != nullptr && best->number >= first_global_ && each->number < first_global_) break;
    const bool nearer = best == nullptr || best->start < each->start || best->rank < each->rank;
    const bool shorter = !nearer && best->start == each->start && best->size > each->size &&
                         best->rank == each->rank;
    if (nearer || shorter) best = each;
  }
  return best;
}

// Whether a label lies behind the ends of all symbols that begin before the address.
bool SymbolIndex::may_be_label(Address address) const {
  const auto label = std::upper_bound(labels_.begin(), labels_.end(), address);
  if (label == labels_.begin()) return false;
  const auto after =
      std::upper_bound(symbols_.begin(), symbols_.end(), address,
                       [](Address wanted, const Symbol& each) { return wanted < each.start; });
  return after == symbols_.begin() ||
         *(label - 1) >= reach_[static_cast<std::size_t>(after - symbols_.begin()) - 1];
}

std::optional<SymbolIndex::Found> SymbolIndex::by_libdwfl(Address address) {
  const auto border = std::upper_bound(borders_.begin(), borders_.end(), address);
  const auto [known, is_new] =
      decided_.try_emplace(static_cast<std::size_t>(border - borders_.begin()), std::nullopt);
  if (!is_new) return known->second;
  GElf_Off offset = 0;
  GElf_Sym entry;
  const char* name =
      dwfl_module_addrinfo(module_, address, &offset, &entry, nullptr, nullptr, nullptr);
  if (name != nullptr) known->second = Found{name, address - offset, entry.st_size};
  return known->second;
}

std::optional<SymbolIndex::Found> SymbolIndex::find(Address address) {
  const Symbol* symbol = best(address);
  // Of a local symbol and a label at the address libdwfl may prefer the label, if it is global.
  const bool is_clear =
      symbol != nullptr && (symbol->number >= first_global_ ||
                            !std::binary_search(labels_.begin(), labels_.end(), address));
  if (is_clear) {
    GElf_Sym entry;
    GElf_Addr start = 0;
    return Found{
        dwfl_module_getsym_info(module_, symbol->number, &entry, &start, nullptr, nullptr, nullptr),
        symbol->start, symbol->size};
  }
  if (symbol == nullptr && !may_be_label(address)) return std::nullopt;
  return by_libdwfl(address);
}

}  // namespace causalctl::unwind
