#include "unwind/target_memory.h"

#include <sys/uio.h>

#include <cerrno>
#include <cstring>

#include "controller/base/procfs.h"

namespace causalctl::unwind {

namespace {

ssize_t read_from(Pid target, Address address, std::span<std::byte> bytes) {
  iovec local{bytes.data(), bytes.size()};
  // The address belongs to the other process; here it is only passed on to the kernel.
  iovec remote{reinterpret_cast<void*>(address), bytes.size()};  // NOLINT
  return process_vm_readv(target, &local, 1, &remote, 1, 0);
}

// Once the main thread has ended while others go on (pthread_exit), the memory is behind these.
ssize_t read_from_another(Pid target, Address address, std::span<std::byte> bytes) {
  thread_local Pid process = 0;
  thread_local Tid found = 0;
  if (process == target) {
    const ssize_t got = read_from(found, address, bytes);
    if (got >= 0 || errno != ESRCH) return got;
  }
  for (const Tid tid : procfs::threads(target)) {
    if (tid == target) continue;
    const ssize_t got = read_from(tid, address, bytes);
    if (got < 0 && errno == ESRCH) continue;
    process = target;
    found = tid;
    return got;
  }
  return -1;
}

}  // namespace

std::size_t read_target_until_gap(Pid target, Address address, std::span<std::byte> bytes) {
  ssize_t got = read_from(target, address, bytes);
  if (got < 0 && errno == ESRCH) got = read_from_another(target, address, bytes);
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
