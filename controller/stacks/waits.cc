#include "controller/stacks/waits.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <iterator>
#include <string_view>

#include "controller/base/system_calls.h"

namespace causalctl::stacks {
namespace {

// Those that may block and have a descriptor as their first argument.
constexpr long kOnDescriptor[] = {
    SYS_read,        SYS_write,     SYS_pread64,    SYS_pwrite64,       SYS_readv,
    SYS_writev,      SYS_preadv,    SYS_pwritev,    SYS_preadv2,        SYS_pwritev2,
    SYS_recvfrom,    SYS_sendto,    SYS_recvmsg,    SYS_sendmsg,        SYS_recvmmsg,
    SYS_sendmmsg,    SYS_accept,    SYS_accept4,    SYS_connect,        SYS_close,
    SYS_fsync,       SYS_fdatasync, SYS_flock,      SYS_fcntl,          SYS_ioctl,
    SYS_sendfile,    SYS_splice,    SYS_getdents64, SYS_epoll_wait,     SYS_epoll_pwait,
    SYS_ftruncate,   SYS_fallocate, SYS_fstat,      SYS_io_uring_enter, SYS_mq_timedreceive,
    SYS_mq_timedsend};

template <typename Numbers>
bool has(const Numbers& numbers, long number) {
  return std::find(std::begin(numbers), std::end(numbers), number) != std::end(numbers);
}

}  // namespace

std::string call_name(long number) {
  const std::string_view name = name_of_call(number);
  return name.empty() ? fmt::format("system call {}", number) : std::string(name);
}

std::string text_of_wait(const procfs::OffCore& at, const DescriptorTarget& target) {
  if (at.number < 0) return "";
  std::string name = call_name(at.number);
  if (has(kOnDescriptor, at.number)) {
    const auto descriptor = static_cast<int>(at.arguments[0]);
    const std::string behind = target(descriptor);
    return fmt::format("{}({}{}{})", name, descriptor, behind.empty() ? "" : ": ", behind);
  }
  if (at.number == SYS_futex) return fmt::format("{}({:#x})", name, at.arguments[0]);
  if (at.number == SYS_wait4) {
    return fmt::format("{}({})", name, static_cast<int>(at.arguments[0]));
  }
  return name;
}

std::string descriptor_target(Pid pid, Tid tid, int descriptor) {
  std::array<char, PATH_MAX> path{};
  const auto link = fmt::format("/proc/{}/task/{}/fd/{}", pid, tid, descriptor);
  const ssize_t size = ::readlink(link.c_str(), path.data(), path.size());
  return size > 0 ? std::string(path.data(), static_cast<std::size_t>(size)) : "";
}

}  // namespace causalctl::stacks
