#include "unwind/tables/frame_table.h"

#include <iterator>
#include <utility>

#include "unwind/tables/function_bounds.h"

namespace causalctl::unwind {
namespace {

constexpr std::size_t kMostRows = 1U << 18U;

}  // namespace

FrameTable::FrameTable(ElfImage image) : image_(std::move(image)), search_(image_.unwind_table()) {
  // The entries may be in a part of the file that is not read here, as it can be written to.
  if (search_ && described_entry(image_, *search_, ~Address{0})) return;
  search_.reset();
  const auto section = image_.section(".eh_frame");
  if (!section) return;
  section_ = {section->bytes, section->address};
  entries_ = frame_entries(section_);
}

std::optional<FrameEntry> FrameTable::entry_of(Address address) const {
  if (search_) return described_entry(image_, *search_, address);
  const auto* range = entries_.find(address);
  return range != nullptr ? frame_entry_at(section_, range->value) : std::nullopt;
}

std::optional<FrameRule> FrameTable::rule_at(Address address) {
  const auto after = rows_.upper_bound(address);
  if (after != rows_.begin()) {
    const FrameRow& row = std::prev(after)->second;
    if (address < row.high) return row.rule;
  }
  const auto entry = entry_of(address);
  const auto row = entry ? frame_row(*entry, address) : std::nullopt;
  if (!row) return std::nullopt;
  if (rows_.size() >= kMostRows) rows_.clear();
  rows_.insert_or_assign(row->low, *row);
  return row->rule;
}

}  // namespace causalctl::unwind
