#include "unwind/names/name_search.h"

#include <gelf.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace causalctl::unwind {
namespace {

constexpr std::size_t kMostTexts = 8;  // each takes a search through .debug_info
constexpr std::size_t kMostMentions = 100'000;

// Returns the content of a section, which libdw has decompressed; empty if there is none.
std::string_view section(Dwarf* dwarf, std::string_view name) {
  Elf* elf = dwarf_getelf(dwarf);
  std::size_t names = 0;
  if (elf == nullptr || elf_getshdrstrndx(elf, &names) != 0) return {};
  for (Elf_Scn* each = nullptr; (each = elf_nextscn(elf, each)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(each, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* text = elf_strptr(elf, names, header.sh_name);
    if (text == nullptr) continue;
    std::string_view found = text;  // ".debug_str", ".zdebug_str", ".debug_str.dwo"
    if (found.ends_with(".dwo")) found.remove_suffix(4);
    const bool same =
        found == name || (found.starts_with(".z") && found.substr(2) == name.substr(1));
    const Elf_Data* data = same ? elf_getdata(each, nullptr) : nullptr;
    if (data != nullptr && data->d_buf != nullptr) {
      return {static_cast<const char*>(data->d_buf), data->d_size};
    }
  }
  return {};
}

// Calls visit(position) for each place at which `wanted` stands, until it returns false.
template <typename Visit>
void for_each_match(std::string_view text, std::string_view wanted, Visit visit) {
  std::size_t at = 0;
  while (at < text.size() && !wanted.empty()) {
    const void* found = memmem(text.data() + at, text.size() - at, wanted.data(), wanted.size());
    if (found == nullptr) return;
    at = static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
    if (!visit(at)) return;
    ++at;
  }
}

bool ends_name(std::string_view text, std::size_t at) {
  constexpr std::string_view kBegins("\0<[!", 4);  // the end, or template arguments
  return at < text.size() && kBegins.find(text[at]) != kBegins.npos;
}

// Returns the offsets of all texts that can be the name. A linker lets a text that ends like
// another one share its bytes, so a text may begin in the middle of another.
std::vector<std::uint32_t> texts_of(std::string_view strings, std::string_view name) {
  std::vector<std::uint32_t> offsets;
  for_each_match(strings, name, [&](std::size_t at) {
    if (!ends_name(strings, at + name.size())) return true;
    offsets.push_back(static_cast<std::uint32_t>(at));
    const auto before = at == 0 ? strings.npos : strings.rfind('\0', at - 1);
    const std::size_t begin = before == strings.npos ? 0 : before + 1;
    if (begin < at && strings[at - 1] == '.') offsets.push_back(static_cast<std::uint32_t>(begin));
    return offsets.size() <= kMostTexts;
  });
  return offsets;
}

void add_matches(std::string_view text, std::string_view wanted, std::vector<Dwarf_Off>& found) {
  for_each_match(text, wanted, [&](std::size_t at) {
    found.push_back(at);
    return found.size() < kMostMentions;
  });
}

std::string_view bytes_of(const std::uint32_t& number) {  // in the byte order of x86
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

}  // namespace

std::optional<Mentions> find_mentions(Dwarf* dwarf, std::string_view name) {
  if (name.empty() || dwarf_getalt(dwarf) != nullptr) return std::nullopt;
  const auto info = section(dwarf, ".debug_info");
  const auto offsets = section(dwarf, ".debug_str_offsets");
  const auto texts = texts_of(section(dwarf, ".debug_str"), name);
  if (info.empty() || texts.size() > kMostTexts) return std::nullopt;
  Mentions mentions;
  mentions.info_size = info.size();
  for (const std::uint32_t text : texts) {
    add_matches(info, bytes_of(text), mentions.in_info);
    add_matches(offsets, bytes_of(text), mentions.in_offsets);
  }
  for_each_match(info, name, [&](std::size_t at) {
    if (ends_name(info, at + name.size())) mentions.as_text.push_back(at);
    return mentions.as_text.size() < kMostMentions;
  });
  const auto most =
      std::max({mentions.in_info.size(), mentions.as_text.size(), mentions.in_offsets.size()});
  if (most >= kMostMentions) return std::nullopt;
  std::sort(mentions.in_info.begin(), mentions.in_info.end());
  std::sort(mentions.in_offsets.begin(), mentions.in_offsets.end());
  return mentions;
}

std::vector<Dwarf_Off> find_references(Dwarf* dwarf, Dwarf_Off entry) {
  const auto offset = static_cast<std::uint32_t>(entry);
  std::vector<Dwarf_Off> found;
  add_matches(section(dwarf, ".debug_info"), bytes_of(offset), found);
  return found;
}

std::vector<std::string> source_names(Dwarf* dwarf) {
  std::vector<std::string> names;
  const auto strings = section(dwarf, ".debug_line_str");
  for (std::size_t begin = 0; begin < strings.size();) {
    const std::size_t end = std::min(strings.find('\0', begin), strings.size());
    const auto text = strings.substr(begin, end - begin);
    const bool is_directory = text.find('.', text.rfind('/') + 1) == text.npos;
    if (!is_directory) names.emplace_back(text);
    begin = end + 1;
  }
  return names;
}

LineTables::LineTables(Dwarf* dwarf, std::string_view file)
    : tables_(section(dwarf, ".debug_line")), file_(file) {
  auto strings = section(dwarf, ".debug_line_str");
  if (strings.empty()) strings = section(dwarf, ".debug_str");
  for_each_match(strings, file, [&](std::size_t at) {
    const std::size_t end = at + file.size();
    if (end >= strings.size() || strings[end] != '\0') return true;
    const auto before = at == 0 ? strings.npos : strings.rfind('\0', at - 1);
    const std::size_t begin = before == strings.npos ? 0 : before + 1;
    // The table refers to the whole path or, where texts share their bytes, into it.
    for (std::size_t i = begin; i <= at; ++i) {
      if (i == begin || strings[i - 1] == '/') texts_.push_back(static_cast<std::uint32_t>(i));
    }
    return true;
  });
}

bool LineTables::may_have(Dwarf_Off offset) const {
  std::uint32_t length = 0;
  if (offset + sizeof length > tables_.size()) return true;
  std::memcpy(&length, tables_.data() + offset, sizeof length);
  if (length > tables_.size() - offset) return true;  // 64-bit DWARF, or damaged
  const auto table = tables_.substr(offset, length + sizeof length);
  const auto has = [&](std::string_view bytes) {
    return memmem(table.data(), table.size(), bytes.data(), bytes.size()) != nullptr;
  };
  return has(file_) || std::any_of(texts_.begin(), texts_.end(),
                                   [&](const std::uint32_t& text) { return has(bytes_of(text)); });
}

}  // namespace causalctl::unwind
