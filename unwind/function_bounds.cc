#include "unwind/function_bounds.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "unwind/call_site.h"

namespace causalctl::unwind {
namespace {

// Returns the size in bytes of a pointer with this encoding (DW_EH_PE_…); 0 if not fixed, or
// unknown.
unsigned encoded_size(std::uint8_t encoding) {
  switch (encoding & 0x0fU) {
    case 0x00:
    case 0x04:
    case 0x0c:
      return 8;
    case 0x03:
    case 0x0b:
      return 4;
    case 0x02:
    case 0x0a:
      return 2;
    default:
      return 0;
  }
}

// Skips a LEB128 number.
bool skip_leb(const ElfImage& image, Address& at) {
  for (int i = 0; i < 10; ++i) {
    const auto byte = image.read<std::uint8_t>(at++);
    if (!byte) return false;
    if ((*byte & 0x80U) == 0) return true;
  }
  return false;
}

// Returns the encoding of addresses in the FDEs of a CIE, which the letter R of its augmentation
// names.
std::optional<std::uint8_t> address_encoding(const ElfImage& image, Address cie) {
  Address at = cie + 9;  // length, id, version
  std::string letters;
  for (;;) {
    const auto letter = image.read<char>(at++);
    if (!letter || letters.size() > 8) return std::nullopt;
    if (*letter == 0) break;
    letters += *letter;
  }
  if (!letters.starts_with('z')) return std::uint8_t{0};
  // Skips code alignment, data alignment, return address register, and length of the augmentation.
  for (int i = 0; i < 4; ++i) {
    if (!skip_leb(image, at)) return std::nullopt;
  }
  for (const char letter : letters.substr(1)) {
    const auto byte = image.read<std::uint8_t>(at);
    if (!byte) return std::nullopt;
    if (letter == 'R') return byte;
    if (letter == 'L') at += 1;
    if (letter == 'P') at += 1 + encoded_size(*byte);
  }
  return std::uint8_t{0};
}

// Returns the length of the function that the FDE describes; 0 if unreadable.
std::uint64_t function_size(const ElfImage& image, Address fde,
                            std::unordered_map<Address, std::uint8_t>& encodings) {
  const auto length = image.read<std::uint32_t>(fde);
  const auto to_cie = image.read<std::uint32_t>(fde + 4);
  if (!length || *length == 0xffffffff || !to_cie) return 0;
  const Address cie = fde + 4 - *to_cie;
  auto known = encodings.find(cie);
  if (known == encodings.end()) {
    const auto encoding = address_encoding(image, cie);
    if (!encoding) return 0;
    known = encodings.emplace(cie, *encoding).first;
  }
  const unsigned size = encoded_size(known->second);
  const Address at = fde + 8 + size;  // behind the start address
  if (size == 8) return image.read<std::uint64_t>(at).value_or(0);
  if (size == 4) return image.read<std::uint32_t>(at).value_or(0);
  if (size == 2) return image.read<std::uint16_t>(at).value_or(0);
  return 0;
}

using Ranges = std::vector<RangeMap<NoValue>::Range>;

// Returns where one of the two addresses of an entry leads: 0 to the function, 1 to its FDE.
std::optional<Address> entry_address(const ElfImage& image, const UnwindTable& table,
                                     std::uint64_t entry, unsigned which) {
  const auto offset = image.read<std::int32_t>(table.entries + 8 * entry + 4 * which);
  if (!offset) return std::nullopt;
  return table.header + static_cast<Address>(std::int64_t{*offset});
}

Ranges described(const ElfImage& image) {
  Ranges ranges;
  const auto table = image.unwind_table();
  if (!table) return ranges;
  std::unordered_map<Address, std::uint8_t> encodings;
  for (std::uint64_t i = 0; i < table->count; ++i) {
    const auto low = entry_address(image, *table, i, 0);
    const auto fde = entry_address(image, *table, i, 1);
    if (!low || !fde) break;
    ranges.push_back({*low, *low + function_size(image, *fde, encodings), {}});
  }
  return ranges;
}

}  // namespace

RangeMap<NoValue> described_functions(const ElfImage& image) {
  return RangeMap<NoValue>(described(image));
}

std::optional<FunctionBounds> described_function(const ElfImage& image, const UnwindTable& table,
                                                 Address address) {
  // The entries are sorted; the last one that begins at or before the address counts.
  std::uint64_t first = 0, end = table.count;
  while (first < end) {
    const std::uint64_t middle = first + (end - first) / 2;
    const auto low = entry_address(image, table, middle, 0);
    if (!low) return std::nullopt;
    if (*low <= address) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  if (first == 0) return std::nullopt;
  const auto low = entry_address(image, table, first - 1, 0);
  const auto fde = entry_address(image, table, first - 1, 1);
  if (!low || !fde) return std::nullopt;
  std::unordered_map<Address, std::uint8_t> encodings;
  const FunctionBounds found{*low, *low + function_size(image, *fde, encodings)};
  return address < found.high ? std::optional(found) : std::nullopt;
}

RangeMap<NoValue> function_bounds(const ElfImage& image) {
  RangeMap<NoValue> known(described(image));
  Ranges ranges = known.ranges();
  for (const ImageBytes& code : image.code_segments()) {
    auto starts = call_targets(code.bytes, code.address);
    std::erase_if(starts, [&](Address each) { return known.find(each) != nullptr; });
    for (std::size_t i = 0; i < starts.size(); ++i) {
      Address end = i + 1 < starts.size() ? starts[i + 1] : code.address + code.bytes.size();
      const auto next =
          std::upper_bound(known.ranges().begin(), known.ranges().end(), starts[i],
                           [](Address start, const auto& each) { return start < each.low; });
      if (next != known.ranges().end()) end = std::min(end, next->low);
      ranges.push_back({starts[i], end, {}});
    }
  }
  return RangeMap<NoValue>(std::move(ranges));
}

}  // namespace causalctl::unwind
