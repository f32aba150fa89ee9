#include "controller/tracee/guardian/precedence.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "controller/base/procfs.h"
#include "controller/tracee/guardian/priority_boost.h"

namespace causalctl::tracee {
namespace {

constexpr Nanoseconds kLookEvery = 250 * kMillisecond;
constexpr Nanoseconds kLookShare = 100;
constexpr int kDeadline = 6;  // SCHED_DEADLINE of the kernel's <linux/sched.h>

struct Attributes {  // sched_attr of the kernel's <linux/sched/types.h>
  std::uint32_t size = 0;
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0, deadline = 0, period = 0;
};

}  // namespace

Claims claims_of(Pid pid) {
  Claims claims;
  for (const Tid tid : procfs::threads(pid)) {
    Attributes now;
    if (syscall(SYS_sched_getattr, tid, &now, sizeof now, 0U) != 0) continue;  // it is gone
    if (now.policy == kDeadline) {
      claims.deadline = tid;
    } else if (now.policy == SCHED_FIFO || now.policy == SCHED_RR) {
      ++claims.count;
      const auto priority = static_cast<int>(now.priority);
      if (priority > claims.priority) {
        claims.priority = priority;
        claims.highest = tid;
      }
    } else {
      claims.nice = std::min(claims.nice, now.nice);
    }
  }
  return claims;
}

std::optional<int> priority_above(const Claims& claims) {
  if (claims.deadline != 0 || claims.priority >= highest_priority()) return std::nullopt;
  return std::max(claims.priority + 1, lowest_priority());
}

int own_priority(const Claims& claims) {
  return priority_above(claims).value_or(highest_priority());
}

std::optional<Error> why_not_before(const Claims& claims, Pid target, std::size_t cores,
                                    bool permitted) {
  constexpr const char* other_policy = "give it another policy meanwhile (chrt -o -p 0 {})";
  if (claims.deadline != 0) {
    return Error(fmt::format("thread {} of process {} has the policy SCHED_DEADLINE, which comes "
                             "before every priority that causalctl could have",
                             claims.deadline, target),
                 fmt::format(fmt::runtime(other_policy), claims.deadline));
  }
  const auto above = priority_above(claims);
  if (claims.count < cores || (above && permitted)) return std::nullopt;
  const auto threads = fmt::format(
      "{} threads of process {} have real-time priority, up to {} (thread {}), and "
      "could keep causalctl from all {} cores",
      claims.count, target, claims.priority, claims.highest, cores);
  if (!above) {
    return Error(
        fmt::format("{}: no priority is above that", threads),
        fmt::format("lower it meanwhile (chrt -p {} {})", claims.priority - 1, claims.highest));
  }
  return Error(fmt::format("{}: it may not run at priority {}, above them", threads, *above),
               fmt::format("run it as root (CAP_SYS_NICE) and in a control group that may have "
                           "real-time threads (cpu.rt_runtime_us), or set RLIMIT_RTPRIO to {}; or "
                           "leave it a core (taskset -a -p)",
                           *above));
}

Claims LookAgain::look(Pid target) {
  const Nanoseconds begin_ns = monotonic_now();
  const Claims claims = claims_of(target);
  const Nanoseconds end_ns = monotonic_now();
  next_ns_ = end_ns + std::max(kLookEvery, kLookShare * (end_ns - begin_ns));
  return claims;
}

}  // namespace causalctl::tracee
