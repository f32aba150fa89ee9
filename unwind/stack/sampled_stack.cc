#include "unwind/stack/sampled_stack.h"

#include <algorithm>

namespace causalctl::unwind {
namespace {

constexpr std::size_t kBlock = 16384;
constexpr Address kPage = 4096;
constexpr std::size_t kMostBlocks = 512;  // 8 MB: as large as stacks usually are

}  // namespace

void SampledStack::start(Address sp, std::span<const std::byte> copy, bool still,
                         const StackCopy& interrupted) {
  sp_ = sp;
  still_ = still;
  copy_ = copy;
  interrupted_ = interrupted;
  last_.reset();
  crossed_from_.reset();
  changed_.reset();
  read_live_ = failed_ = false;
  used_ = 0;
  left_ = crossed_ = false;
}

bool SampledStack::is_there(const Slot& slot) const {
  Address value = 0;
  return read_target(target_, slot.at, std::as_writable_bytes(std::span(&value, 1))) &&
         value == slot.value;
}

bool SampledStack::has_changed() {
  if (still_) return false;
  if (!changed_) {
    changed_ = last_ ? !is_there(*last_) : crossed_;
    if (crossed_from_ && !is_there(*crossed_from_)) changed_ = true;
  }
  return *changed_;
}

bool SampledStack::is_still_unchanged() {
  changed_.reset();
  return !has_changed();
}

// Returns the bytes from the address on; none if they cannot be read.
std::span<const std::byte> SampledStack::block_at(Address address) {
  for (std::size_t i = 0; i < used_; ++i) {
    const Address offset = address - blocks_[i].start;
    if (offset < blocks_[i].bytes.size()) return std::span(blocks_[i].bytes).subspan(offset);
  }
  if (used_ == kMostBlocks) return {};
  if (used_ == blocks_.size()) blocks_.emplace_back();
  Block& block = blocks_[used_];
  block.start = address / kPage * kPage;
  block.bytes.resize(kBlock);
  block.bytes.resize(read_target_until_gap(target_, block.start, block.bytes));
  const Address offset = address - block.start;
  if (offset >= block.bytes.size()) return {};
  ++used_;
  return std::span(block.bytes).subspan(offset);
}

std::optional<Address> SampledStack::other(Address address) {
  Address value = 0;
  if (!read(address, std::as_writable_bytes(std::span(&value, 1)))) return std::nullopt;
  return value;
}

bool SampledStack::read(Address address, std::span<std::byte> bytes) {
  if (StackView(sp_, copy_).read(address, bytes)) return true;
  if (StackView(interrupted_.sp, interrupted_.bytes).read(address, bytes)) return true;
  if (left_) {
    failed_ = true;
    return false;
  }
  read_live_ = true;
  while (!bytes.empty() && !has_changed()) {
    const auto there = block_at(address);
    if (there.empty()) break;
    const std::size_t size = std::min(there.size(), bytes.size());
    std::memcpy(bytes.data(), there.data(), size);
    bytes = bytes.subspan(size);
    address += size;
  }
  failed_ |= !bytes.empty();
  return bytes.empty();
}

}  // namespace causalctl::unwind
