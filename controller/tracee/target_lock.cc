#include "controller/tracee/target_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/procfs.h"
#include "controller/tracee/process.h"

namespace causalctl::tracee {
namespace {

constexpr Nanoseconds kPatience = kSecond;
constexpr Nanoseconds kTryAgain = 10 * kMillisecond;

Fd open_folder(Pid target) {
  const auto path = fmt::format("/proc/{}", target);
  return Fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// Returns 0 where no process holds it, or none that can be seen.
Pid holder_of(const Fd& folder) {
  struct stat file {};
  const auto locks = procfs::read_text("/proc/locks");
  if (!locks || fstat(folder.get(), &file) != 0) return 0;
  return procfs::parse_flock_holder(
      *locks, fmt::format("{:02x}:{:02x}:{}", major(file.st_dev), minor(file.st_dev), file.st_ino));
}

// Any process may lock that folder, and take that name; but only some belong to these users.
bool is_guardian(Pid holder, Pid target) {
  const auto who = procfs::status(holder);
  const auto whose = procfs::status(target);
  return who && whose && who->name == kGuardianName &&
         (who->uid == 0 || who->uid == geteuid() || who->uid == whose->uid);
}

// The user knows the causalctl that has started the guardian.
Pid causalctl_of(Pid guardian) {
  const auto stat = procfs::read_text(fmt::format("/proc/{}/stat", guardian));
  const Pid parent = stat ? procfs::parse_parent(*stat) : 0;
  return parent > 0 && process_name(parent) == "causalctl" ? parent : guardian;
}

}  // namespace

Fd lock_target(Pid target) {
  Fd folder = open_folder(target);
  if (!folder) return folder;  // the next check says why
  const Nanoseconds deadline_ns = monotonic_now() + kPatience;
  while (flock(folder.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return {};
    const Pid holder = holder_of(folder);
    if (holder > 0 && !is_guardian(holder, target)) return {};
    if (monotonic_now() > deadline_ns) {
      if (holder == 0) return {};
      refuse_profiled(target, causalctl_of(holder));
    }
    sleep_until(monotonic_now() + kTryAgain);
  }
  return folder;
}

std::optional<Pid> locked_by_causalctl(Pid target) {
  const Fd folder = open_folder(target);
  if (!folder) return std::nullopt;
  const Pid holder = holder_of(folder);
  if (holder <= 0 || !is_guardian(holder, target)) return std::nullopt;
  return causalctl_of(holder);
}

void refuse_profiled(Pid target, Pid causalctl) {
  throw Error(
      fmt::format("process {} is being profiled by causalctl, process {}", target, causalctl),
      "two would measure each other's pauses: wait for its end, or end it by Ctrl-C");
}

}  // namespace causalctl::tracee
