#include "unwind/modules/target_memory.h"

#include <cstring>

#include "controller/base/foreign_memory.h"

namespace causalctl::unwind {

std::size_t read_target_until_gap(Pid target, Address address, std::span<std::byte> bytes) {
  const ssize_t got = read_foreign(target, address, bytes);
  return got < 0 ? 0 : static_cast<std::size_t>(got);
}

bool read_target(Pid target, Address address, std::span<std::byte> bytes) {
  return read_target_until_gap(target, address, bytes) == bytes.size();
}

bool StackView::read(Address address, std::span<std::byte> bytes) const {
  if (address < base_) return false;
  const Address offset = address - base_;
  if (offset > stack_.size() || bytes.size() > stack_.size() - offset) return false;
  std::memcpy(bytes.data(), stack_.data() + offset, bytes.size());
  return true;
}

}  // namespace causalctl::unwind
