#include "controller/base/foreign_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "controller/base/fd.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"
#include "controller/base/restrictions.h"

namespace causalctl {
namespace {

std::atomic<bool> filter_seen = false;

// Returns whether the call that has just failed was refused by a filter. Keeps errno.
bool is_refused_by_filter() {
  if (errno != EPERM && errno != EACCES && errno != ENOSYS) return false;
  const int error = errno;
  if (is_filtered(GuardedCall::process_vm_readv) && !filter_seen.exchange(true)) {
    log::note(
        "note: a seccomp filter forbids process_vm_readv; memory is read by /proc/PID/mem, which "
        "is slower");
  }
  errno = error;
  return filter_seen;
}

// Gives the errors of /proc/PID/mem the numbers of the other calls.
ssize_t translated(ssize_t count) {
  if (count == 0) errno = ESRCH;  // its memory is gone
  if (count < 0 && errno == EIO) errno = EFAULT;
  if (count < 0 && errno == EACCES) errno = EPERM;
  if (count < 0 && errno == ENOENT) errno = ESRCH;
  return count > 0 ? count : -1;
}

Fd memory_of(Tid tid, int how) {
  return Fd(::open(fmt::format("/proc/{}/mem", tid).c_str(), how | O_CLOEXEC));
}

template <typename ByCall, typename ByFile>
ssize_t transfer(std::size_t size, ByCall by_call, ByFile by_file) {
  if (!filter_seen) {
    const ssize_t count = by_call();
    if (count >= 0 || !is_refused_by_filter()) return count;
  }
  return size == 0 ? 0 : translated(by_file());
}

// Once the main thread has ended while others go on (pthread_exit), the memory is behind these.
template <typename Transfer>
ssize_t by_some_thread(Pid pid, Transfer transfer) {
  thread_local Pid process = 0;
  thread_local Tid found = 0;
  ssize_t count = transfer(pid);
  if (count >= 0 || errno != ESRCH) return count;
  if (process == pid) {
    count = transfer(found);
    if (count >= 0 || errno != ESRCH) return count;
  }
  for (const Tid tid : procfs::threads(pid)) {
    if (tid == pid) continue;
    count = transfer(tid);
    if (count < 0 && errno == ESRCH) continue;
    process = pid;
    found = tid;
    return count;
  }
  errno = ESRCH;
  return -1;
}

ssize_t read_from(Tid tid, Address address, std::span<std::byte> into) {
  return transfer(
      into.size(),
      [&] {
        const iovec local{into.data(), into.size()};
        // The address belongs to the other process; here it is only passed on to the kernel.
        const iovec remote{reinterpret_cast<void*>(address), into.size()};  // NOLINT
        return ::process_vm_readv(tid, &local, 1, &remote, 1, 0);
      },
      [&] {
        const Fd memory = memory_of(tid, O_RDONLY);
        return memory ? ::pread(memory.get(), into.data(), into.size(), static_cast<off_t>(address))
                      : -1;
      });
}

ssize_t write_to(Tid tid, Address address, std::span<const std::byte> from) {
  return transfer(
      from.size(),
      [&] {
        // It is only read by the kernel.
        const iovec local{const_cast<std::byte*>(from.data()), from.size()};
        const iovec remote{reinterpret_cast<void*>(address), from.size()};  // NOLINT
        return ::process_vm_writev(tid, &local, 1, &remote, 1, 0);
      },
      [&] {
        const Fd memory = memory_of(tid, O_WRONLY);
        return memory
                   ? ::pwrite(memory.get(), from.data(), from.size(), static_cast<off_t>(address))
                   : -1;
      });
}

}  // namespace

ssize_t read_foreign(Pid pid, Address address, std::span<std::byte> into) {
  return by_some_thread(pid, [&](Tid tid) { return read_from(tid, address, into); });
}

ssize_t write_foreign(Pid pid, Address address, std::span<const std::byte> from) {
  return by_some_thread(pid, [&](Tid tid) { return write_to(tid, address, from); });
}

}  // namespace causalctl
