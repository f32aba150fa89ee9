#include "controller/tracee/end_watch.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "controller/base/procfs.h"

namespace causalctl::tracee {
namespace {

// The first version of struct pidfd_info in <linux/pidfd.h>.
struct PidfdInfo {
  std::uint64_t mask, cgroup;
  std::uint32_t ids[11];
  std::int32_t exit_code;
};
constexpr std::uint64_t kExit = 1 << 3;
constexpr unsigned long kGetInfo = _IOWR(0xff, 11, PidfdInfo);

}  // namespace

EndWatch::EndWatch(Pid target)
    : target_(target), pidfd_(static_cast<int>(syscall(SYS_pidfd_open, target, 0))) {}

std::optional<int> EndWatch::wait_status() const {
  const auto stat = procfs::read_text(fmt::format("/proc/{}/stat", target_));
  if (stat && procfs::parse_state(*stat) == 'Z') {
    if (const int status = procfs::parse_exit_code(*stat); status != 0) return status;
  }
  PidfdInfo info{};
  info.mask = kExit;
  if (ioctl(pidfd_.get(), kGetInfo, &info) != 0 || (info.mask & kExit) == 0) return std::nullopt;
  return info.exit_code;
}

}  // namespace causalctl::tracee
