#include "controller/progress/usdt.h"

#include <gelf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "controller/progress/progress.h"

namespace causalctl::progress {
namespace {

constexpr std::uint32_t kProbeNote = 3;
constexpr std::string_view kOwner{"stapsdt\0", 8};
constexpr std::size_t kAddresses = 3 * sizeof(std::uint64_t);

// Takes `size` bytes, and the padding to a multiple of 4, off `rest`.
std::optional<std::span<const std::byte>> take(std::span<const std::byte>& rest, std::size_t size) {
  if (size > rest.size()) return std::nullopt;
  const auto bytes = rest.first(size);
  rest = rest.subspan(std::min(rest.size(), (size + 3) & ~std::size_t{3}));
  return bytes;
}

template <typename T>
T read_at(std::span<const std::byte> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Takes a string with its terminating zero off `text`. Returns nullopt if it is not terminated.
std::optional<std::string> take_string(std::string_view& text) {
  const auto end = text.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  std::string value(text.substr(0, end));
  text.remove_prefix(end + 1);
  return value;
}

std::optional<UsdtNote> parse_description(std::span<const std::byte> bytes) {
  if (bytes.size() < kAddresses) return std::nullopt;
  UsdtNote note;
  note.pc = read_at<std::uint64_t>(bytes, 0);
  note.base = read_at<std::uint64_t>(bytes, 8);
  note.semaphore = read_at<std::uint64_t>(bytes, 16);
  auto text = as_text(bytes.subspan(kAddresses));
  auto provider = take_string(text);
  auto name = take_string(text);
  if (!provider || !name || provider->empty() || name->empty()) return std::nullopt;
  note.provider = std::move(*provider);
  note.name = std::move(*name);
  note.arguments = take_string(text).value_or("");
  return note;
}

struct Section {
  GElf_Shdr header{};
  Elf_Scn* section = nullptr;
};

std::optional<Section> find_section(Elf* elf, std::string_view wanted) {
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return std::nullopt;
  for (Elf_Scn* each = elf_nextscn(elf, nullptr); each != nullptr; each = elf_nextscn(elf, each)) {
    Section section{{}, each};
    if (gelf_getshdr(each, &section.header) == nullptr) continue;
    const char* name = elf_strptr(elf, names, section.header.sh_name);
    if (name != nullptr && name == wanted) return section;
  }
  return std::nullopt;
}

}  // namespace

std::vector<UsdtNote> parse_usdt_notes(std::span<const std::byte> section) {
  std::vector<UsdtNote> notes;
  while (section.size() >= sizeof(Elf64_Nhdr)) {
    const auto header = read_at<Elf64_Nhdr>(section, 0);
    section = section.subspan(sizeof header);
    const auto owner = take(section, header.n_namesz);
    if (!owner) break;
    const auto description = take(section, header.n_descsz);
    if (!description) break;
    if (header.n_type != kProbeNote || as_text(*owner) != kOwner) continue;
    auto note = parse_description(*description);
    if (!note) break;
    notes.push_back(std::move(*note));
  }
  return notes;
}

std::vector<UsdtNote> read_usdt_notes(Elf* elf) {
  if (elf == nullptr) return {};
  const auto section = find_section(elf, ".note.stapsdt");
  if (!section || section->header.sh_type != SHT_NOTE) return {};
  const Elf_Data* data = elf_rawdata(section->section, nullptr);
  if (data == nullptr || data->d_buf == nullptr) return {};
  auto notes = parse_usdt_notes({static_cast<const std::byte*>(data->d_buf), data->d_size});
  const auto base = find_section(elf, ".stapsdt.base");
  for (auto& note : notes) {
    const std::uint64_t moved = base ? base->header.sh_addr - note.base : 0;
    note.pc += moved;
    if (note.semaphore != 0) note.semaphore += moved;
  }
  return notes;
}

std::vector<UsdtSite> usdt_sites(Pid target) {
  std::vector<UsdtSite> sites;
  for (const auto& image : mapped_images(target)) {
    for (auto& note : read_usdt_notes(ElfFile(image.readable).get())) {
      if (!image.file_offset(note.pc)) continue;
      UsdtSite site{std::move(note.provider), std::move(note.name), image.bias + note.pc, 0};
      if (note.semaphore != 0) {
        const auto offset = image.file_offset(note.semaphore);
        if (!offset) continue;  // without its semaphore the probe might never be passed
        site.semaphore_offset = *offset;
      }
      sites.push_back(std::move(site));
    }
  }
  return sites;
}

std::vector<UsdtSpec> usdt_probes(Pid target) {
  std::set<std::pair<std::string, std::string>> names;
  for (auto& site : usdt_sites(target)) {
    names.emplace(std::move(site.provider), std::move(site.name));
  }
  std::vector<UsdtSpec> probes;
  for (const auto& [provider, name] : names) probes.push_back({provider, name});
  return probes;
}

}  // namespace causalctl::progress
