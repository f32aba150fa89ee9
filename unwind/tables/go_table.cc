#include "unwind/tables/go_table.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "controller/base/paths.h"

namespace causalctl::unwind {
namespace {

constexpr std::uint32_t kGo12 = 0xfffffffb;
constexpr std::uint32_t kGo116 = 0xfffffffa;
constexpr std::uint32_t kGo118 = 0xfffffff0;
constexpr std::uint32_t kGo120 = 0xfffffff1;

// Fields of a function, counted from behind its entry.
constexpr unsigned kName = 1;
constexpr unsigned kStack = 4;
constexpr unsigned kFiles = 5;
constexpr unsigned kLines = 6;
constexpr unsigned kUnit = 8;

constexpr std::size_t kLongestText = 4096;
constexpr std::uint64_t kMostFunctions = 4'000'000;

using Bytes = std::span<const std::byte>;

Bytes from(Bytes bytes, std::uint64_t offset) {
  return offset < bytes.size() ? bytes.subspan(offset) : Bytes();
}

template <typename Number>
std::optional<Number> number_at(Bytes bytes, std::uint64_t offset) {
  const Bytes there = from(bytes, offset);
  if (there.size() < sizeof(Number)) return std::nullopt;
  Number number;
  std::memcpy(&number, there.data(), sizeof number);
  return number;
}

std::string text_at(Bytes bytes, std::uint64_t offset) {
  const Bytes there = from(bytes, offset);
  const auto end =
      std::find(there.begin(),
                there.begin() + static_cast<std::ptrdiff_t>(std::min(there.size(), kLongestText)),
                std::byte{0});
  return std::string(reinterpret_cast<const char*>(there.data()),
                     static_cast<std::size_t>(end - there.begin()));
}

bool is_header(Bytes bytes) {
  const auto magic = number_at<std::uint32_t>(bytes, 0);
  if (!magic || (*magic != kGo12 && *magic != kGo116 && *magic != kGo118 && *magic != kGo120)) {
    return false;
  }
  const auto rest = number_at<std::array<std::uint8_t, 4>>(bytes, 4);
  constexpr unsigned kPointer = 8;
  return rest && (*rest)[0] == 0 && (*rest)[1] == 0 && (*rest)[2] == 1 && (*rest)[3] == kPointer;
}

// Reads an unsigned LEB128 number of at most 32 bits and moves `at` behind it.
std::optional<std::uint32_t> varint(Bytes bytes, std::uint64_t& at) {
  std::uint32_t value = 0;
  for (unsigned shift = 0; shift < 35; shift += 7) {
    const auto byte = number_at<std::uint8_t>(bytes, at++);
    if (!byte) return std::nullopt;
    value |= static_cast<std::uint32_t>(*byte & 0x7fU) << shift;
    if ((*byte & 0x80U) == 0) return value;
  }
  return std::nullopt;
}

// In a position-independent program the dynamic linker fills in the word at the address.
std::optional<Address> relocated(const ElfImage& image, Address address) {
  const auto relocations = image.section(".rela.dyn");
  if (!relocations) return std::nullopt;
  const std::size_t count = relocations->bytes.size() / sizeof(Elf64_Rela);
  for (std::size_t i = 0; i < count; ++i) {
    const auto each = number_at<Elf64_Rela>(relocations->bytes, i * sizeof(Elf64_Rela));
    if (each && each->r_offset == address) return static_cast<Address>(each->r_addend);
  }
  return std::nullopt;
}

}  // namespace

GoTable::GoTable(const ElfImage& image) {
  for (const char* name : {".gopclntab", ".data.rel.ro.gopclntab"}) {
    const auto section = image.section(name);
    if (section && read_header(section->bytes, image, section->address)) return;
  }
  if (image.section(".shstrtab")) return;
  // Without section headers it is found by its magic number.
  constexpr std::size_t kAligned = 8;
  for (const ImageBytes& data : image.data_segments()) {
    for (std::size_t at = 0; at < data.bytes.size(); at += kAligned) {
      const Bytes there = data.bytes.subspan(at);
      if (is_header(there) && read_header(there, image, data.address + at)) return;
    }
  }
}

bool GoTable::read_header(Bytes table, const ElfImage& image, Address address) {
  if (!is_header(table)) return false;
  const auto magic = number_at<std::uint32_t>(table, 0);
  const auto word = [&](unsigned index) {
    return number_at<std::uint64_t>(table, 8 + 8 * index).value_or(0);
  };
  quantum_ = number_at<std::uint8_t>(table, 6).value_or(1);
  count_ = word(0);
  if (count_ == 0 || count_ > kMostFunctions) return false;
  if (magic == kGo12) {
    entry_bytes_ = 8;
    list_ = 16;
    functions_ = names_ = values_ = table;
    const auto files = number_at<std::uint32_t>(table, list_ + (2 * count_ + 1) * entry_bytes_);
    files_ = from(table, files.value_or(0));
  } else {
    const bool relative = magic != kGo116;
    const unsigned first = relative ? 3 : 2;
    entry_bytes_ = relative ? 4 : 8;
    by_unit_ = true;
    names_ = from(table, word(first));
    units_ = from(table, word(first + 1));
    files_ = from(table, word(first + 2));
    values_ = from(table, word(first + 3));
    functions_ = from(table, word(first + 4));
    if (relative) text_ = word(2) != 0 ? word(2) : relocated(image, address + 24).value_or(0);
  }
  index_functions();
  return valid();
}

void GoTable::index_functions() {
  const auto entry = [this](std::uint64_t index) -> std::optional<std::uint64_t> {
    const std::uint64_t at = list_ + index * entry_bytes_;
    if (entry_bytes_ == 8) return number_at<std::uint64_t>(functions_, at);
    const auto number = number_at<std::uint32_t>(functions_, at);
    return number ? std::optional<std::uint64_t>(*number) : std::nullopt;
  };
  std::vector<Range> ranges;
  for (std::uint64_t i = 0; i < count_; ++i) {
    const auto low = entry(2 * i);
    const auto offset = entry(2 * i + 1);
    const auto high = entry(2 * i + 2);
    if (!low || !offset || !high) break;
    ranges.push_back({text_ + *low, text_ + *high, *offset});
  }
  by_address_ = RangeMap<std::uint64_t>(std::move(ranges));
}

std::optional<std::uint32_t> GoTable::field(std::uint64_t function, unsigned number) const {
  const Bytes there = from(functions_, function);
  return number_at<std::uint32_t>(there, entry_bytes_ + std::uint64_t{4} * (number - 1));
}

std::string GoTable::name_of(std::uint64_t function) const {
  const auto offset = field(function, kName);
  return offset ? text_at(names_, *offset) : std::string();
}

std::string GoTable::file_of(std::uint64_t function, std::int32_t number) const {
  if (number < 0) return {};
  const auto index = static_cast<std::uint64_t>(number);
  if (!by_unit_) {
    const auto offset = number_at<std::uint32_t>(files_, 4 * index);
    return offset ? text_at(functions_, *offset) : std::string();
  }
  const auto unit = field(function, kUnit);
  if (!unit) return {};
  const auto offset = number_at<std::uint32_t>(units_, 4 * (*unit + index));
  return offset && *offset != 0xffffffff ? text_at(files_, *offset) : std::string();
}

// Calls use(low, high, value) for each piece of the function's code, until it returns false.
template <typename Use>
void GoTable::for_each_value(const Range& function, unsigned number, Use use) const {
  const auto offset = field(function.value, number);
  if (!offset || *offset == 0) return;
  std::uint64_t at = *offset;
  std::uint32_t value = 0xffffffff;
  Address pc = function.low;
  while (pc < function.high) {
    const auto change = varint(values_, at);
    const auto length = varint(values_, at);
    if (!change || !length || *length == 0) return;
    value += (*change & 1U) != 0 ? ~(*change >> 1U) : *change >> 1U;
    const Address next = pc + std::uint64_t{*length} * quantum_;
    if (!use(pc, next, static_cast<std::int32_t>(value))) return;
    pc = next;
  }
}

std::int32_t GoTable::value_at(const Range& function, unsigned number, Address address) const {
  std::int32_t found = -1;
  for_each_value(function, number, [&](Address, Address high, std::int32_t value) {
    if (address < high) found = value;
    return address >= high;
  });
  return found;
}

std::optional<GoFunction> GoTable::function_at(Address address) const {
  const auto* range = by_address_.find(address);
  if (range == nullptr) return std::nullopt;
  GoFunction function{range->low, range->high, name_of(range->value)};
  return function.name.empty() ? std::nullopt : std::optional(std::move(function));
}

std::optional<GoLine> GoTable::line_at(Address address) const {
  const auto* range = by_address_.find(address);
  if (range == nullptr) return std::nullopt;
  const std::int32_t line = value_at(*range, kLines, address);
  const std::int32_t file = value_at(*range, kFiles, address);
  GoLine found{file_of(range->value, file), line};
  return line > 0 && !found.file.empty() ? std::optional(std::move(found)) : std::nullopt;
}

std::optional<std::int32_t> GoTable::stack_at(Address address) const {
  const auto* range = by_address_.find(address);
  const std::int32_t in_use = range != nullptr ? value_at(*range, kStack, address) : -1;
  return in_use >= 0 ? std::optional(in_use) : std::nullopt;
}

std::vector<GoFunction> GoTable::functions() const {
  std::vector<GoFunction> all;
  for (const auto& range : by_address_.ranges()) {
    all.push_back({range.low, range.high, name_of(range.value)});
  }
  return all;
}

std::vector<std::string> GoTable::files() const {
  std::vector<std::string> all;
  for (const auto& range : by_address_.ranges()) {
    const auto last = all.empty() ? std::string_view() : std::string_view(all.back());
    std::string file = file_of(range.value, value_at(range, kFiles, range.low));
    if (!file.empty() && file != last) all.push_back(std::move(file));
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::vector<GoTable::Match> GoTable::find_line(const std::string& file, int line) const {
  std::vector<Match> matches;
  for (const auto& range : by_address_.ranges()) {
    for_each_value(range, kLines, [&](Address low, Address, std::int32_t value) {
      if (value != line) return true;
      std::string name = file_of(range.value, value_at(range, kFiles, low));
      if (!path_ends_with(name, file)) return true;
      matches.push_back({low, std::move(name)});
      return false;
    });
  }
  return matches;
}

}  // namespace causalctl::unwind
