#include "unwind/target_memory.h"

#include <sys/uio.h>

#include <cstring>

namespace causalctl::unwind {

std::size_t read_target_until_gap(Pid target, Address address, std::span<std::byte> bytes) {
  iovec local{bytes.data(), bytes.size()};
  // The address belongs to the other process; here it is only passed on to the kernel.
  iovec remote{reinterpret_cast<void*>(address), bytes.size()};  // NOLINT
  const ssize_t got = process_vm_readv(target, &local, 1, &remote, 1, 0);
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
