#include "controller/base/cpu_limits.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <string>

#include "controller/base/clock.h"
#include "controller/base/fd.h"

namespace causalctl {
namespace {

bool write_text(const std::string& path, const std::string& text) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// A cgroup of version 1 with a quota of a tenth of a core, or without one.
class QuotaGroup {
 public:
  QuotaGroup() : path_(fmt::format("/sys/fs/cgroup/cpu/causalctl_test_{}", getpid())) {
    made_ = mkdir(path_.c_str(), 0755) == 0;
    usable_ = made_ && write_text(path_ + "/cpu.cfs_period_us", "20000") &&
              write_text(path_ + "/cpu.cfs_quota_us", "2000");
  }
  ~QuotaGroup() {
    if (made_) rmdir(path_.c_str());
  }
  QuotaGroup(const QuotaGroup&) = delete;
  QuotaGroup& operator=(const QuotaGroup&) = delete;
  bool usable() const { return usable_; }
  bool add(Pid pid) const { return write_text(path_ + "/cgroup.procs", std::to_string(pid)); }

 private:
  std::string path_;
  bool made_ = false;
  bool usable_ = false;
};

class BusyChild {
 public:
  BusyChild() : pid_(fork()) {
    if (pid_ == 0) {
      for (volatile bool busy = true; busy;) {
      }
    }
  }
  ~BusyChild() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  BusyChild(const BusyChild&) = delete;
  BusyChild& operator=(const BusyChild&) = delete;
  Pid pid() const { return pid_; }

 private:
  Pid pid_;
};

}  // namespace

TEST_CASE("a process that a quota holds up is known from then on", "[base]") {
  const QuotaGroup group;
  if (!group.usable()) {
    WARN("no cgroup of version 1 with a quota can be made here");
    return;
  }
  const BusyChild child;
  REQUIRE(group.add(child.pid()));
  CpuLimitsOf limits(child.pid());
  Patience patience(10 * kSecond);
  while (!limits.poll().throttled && !patience.over()) {
    sleep_until(monotonic_now() + 10 * kMillisecond);
  }
  CHECK(limits.poll().throttled);
  sleep_until(monotonic_now() + 200 * kMillisecond);  // ten periods
  const CpuLimits latest = limits.poll();
  REQUIRE(latest.used_up);
  CHECK(*latest.used_up > 0.5);
  CHECK(latest.granted == 0.1);
  kill(child.pid(), SIGSTOP);
  CHECK(limits.poll().throttled);  // the quota may throttle it again
  const CpuLimits ours = CpuLimitsOf(getpid()).poll();
  CHECK_FALSE(ours.throttled);
  CHECK_FALSE(ours.granted);
}

TEST_CASE("a limit of CPU time is seen", "[base]") {
  const BusyChild child;
  CpuLimitsOf limits(child.pid());
  CHECK_FALSE(limits.poll().is_counted);
  const rlimit limit{3600, RLIM_INFINITY};
  REQUIRE(prlimit(child.pid(), RLIMIT_CPU, &limit, nullptr) == 0);
  CHECK(limits.poll().is_counted);
}

}  // namespace causalctl
