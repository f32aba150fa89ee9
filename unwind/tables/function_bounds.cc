#include "unwind/tables/function_bounds.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "unwind/tables/call_site.h"

namespace causalctl::unwind {
namespace {

// Returns the entry whose FDE is at the address.
std::optional<FrameEntry> entry_at(const ElfImage& image, Address fde) {
  const auto rest = image.constant_bytes(fde);
  if (rest.empty()) return std::nullopt;
  // From the beginning of the file, since the FDE refers to a CIE before it.
  const auto offset = static_cast<std::uint64_t>(rest.data() - image.file().data());
  return frame_entry_at({image.file().first(offset + rest.size()), fde - offset}, offset);
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
  for (std::uint64_t i = 0; i < table->count; ++i) {
    const auto low = entry_address(image, *table, i, 0);
    const auto fde = entry_address(image, *table, i, 1);
    if (!low || !fde) break;
    const auto entry = entry_at(image, *fde);
    if (entry) ranges.push_back({*low, *low + (entry->high - entry->low), {}});
  }
  return ranges;
}

}  // namespace

RangeMap<NoValue> described_functions(const ElfImage& image) {
  return RangeMap<NoValue>(described(image));
}

std::optional<FrameEntry> described_entry(const ElfImage& image, const UnwindTable& table,
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
  const auto fde = entry_address(image, table, first - 1, 1);
  return fde ? entry_at(image, *fde) : std::nullopt;
}

std::optional<FunctionBounds> described_function(const ElfImage& image, const UnwindTable& table,
                                                 Address address) {
  const auto entry = described_entry(image, table, address);
  if (!entry || address < entry->low || address >= entry->high) return std::nullopt;
  return FunctionBounds{entry->low, entry->high};
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
