#include "controller/tracee/inject/own_mask.h"

#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/procfs.h"
#include "controller/tracee/process.h"

namespace causalctl::tracee {
namespace {

constexpr Nanoseconds kMaskPatience = 50 * kMillisecond;
constexpr Nanoseconds kPollEvery = kMillisecond / 2;
// Between polls that are further apart, as on an overloaded machine, a thread may have let signals
// in again without being seen.
constexpr Nanoseconds kLongestGap = 2 * kMillisecond;
constexpr std::uint64_t kComputed = 2;  // user ticks: two may begin within one of them

constexpr std::uint64_t bit(int signal) { return std::uint64_t{1} << (signal - 1); }
// Signals that cannot be blocked, and those that musl keeps for itself.
constexpr std::uint64_t kNeverMind = bit(SIGKILL) | bit(SIGSTOP) | bit(32) | bit(33) | bit(34);

bool blocks_all(std::uint64_t mask) { return (mask | kNeverMind) == ~std::uint64_t{0}; }

// Some calls have a mask of their own while they wait, which is not the thread's.
bool may_be_masking(Pid pid, Tid tid) {
  constexpr std::array masking{SYS_ppoll, SYS_pselect6, SYS_epoll_pwait, SYS_rt_sigsuspend,
                               SYS_rt_sigtimedwait};
  const auto doing = activity(pid, tid);
  return !doing || std::find(masking.begin(), masking.end(), doing->number) != masking.end();
}

std::optional<MaskPoll> poll_mask(Pid pid, Tid tid) {
  const bool masking_before = may_be_masking(pid, tid);
  const auto status = procfs::thread_status(pid, tid);
  if (masking_before || !status || may_be_masking(pid, tid)) return std::nullopt;
  const auto stat = procfs::thread_stat(pid, tid).value_or("");
  return MaskPoll{status->signals_blocked, status->state, procfs::parse_user_ticks(stat)};
}

}  // namespace

bool is_own_mask(const MaskPoll& first, const MaskPoll& now) {
  if (!blocks_all(now.blocked)) return true;
  return (first.state == 'S' && now.state == 'S') || now.user_ticks >= first.user_ticks + kComputed;
}

std::optional<std::uint64_t> mask_now(Pid pid, Tid tid) {
  const auto now = poll_mask(pid, tid);
  return now ? std::optional(now->blocked) : std::nullopt;
}

std::map<Tid, std::uint64_t> own_masks(Pid pid, std::span<const Tid> tids) {
  std::map<Tid, std::uint64_t> own;
  std::map<Tid, MaskPoll> doubtful;  // as of the first poll of each that counts
  for (const Tid tid : tids) {
    const auto now = poll_mask(pid, tid);
    if (!now) continue;
    if (blocks_all(now->blocked)) {
      doubtful[tid] = *now;
    } else {
      own[tid] = now->blocked;
    }
  }
  Nanoseconds polled_ns = monotonic_now();
  for (Patience patience(kMaskPatience); !doubtful.empty() && !patience.over();) {
    sleep_until(monotonic_now() + kPollEvery);
    const Nanoseconds now_ns = monotonic_now();
    const bool is_gap = now_ns - std::exchange(polled_ns, now_ns) > kLongestGap;
    for (auto thread = doubtful.begin(); thread != doubtful.end();) {
      const auto now = poll_mask(pid, thread->first);
      if (now && is_gap && blocks_all(now->blocked) && now->state != 'S') thread->second = *now;
      if (now && !is_own_mask(thread->second, *now)) {
        ++thread;
        continue;
      }
      if (now) own[thread->first] = now->blocked;
      thread = doubtful.erase(thread);
    }
  }
  return own;
}

}  // namespace causalctl::tracee
