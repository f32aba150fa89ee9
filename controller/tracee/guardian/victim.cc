#include "controller/tracee/guardian/victim.h"

#include <sys/syscall.h>

#include <algorithm>

#include "controller/base/procfs.h"
#include "controller/tracee/process.h"

namespace causalctl::tracee {
namespace {

// Returns how well a thread can be stopped; a smaller number is better.
int stop_rank(Pid pid, Tid tid, ForkingThreads& forking) {
  const auto now = activity(pid, tid);
  if (!now || now->kind == Activity::Kind::blocked) return kUnsuitable;
  if (forking.contains(tid)) return kSpared;
  if (now->kind == Activity::Kind::running) return 1;
  switch (now->number) {
    case SYS_futex:
      return 0;  // always restarted, and no thread waits for this one
    case SYS_read:
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_poll:
    case SYS_ppoll:
    case SYS_select:
    case SYS_pselect6:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_accept:
    case SYS_accept4:
    case SYS_rt_sigsuspend:
    case SYS_pause:
      return 2;  // restarted by the kernel
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64:
    case SYS_pwritev:
    case SYS_pwritev2:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_sendfile:
    case SYS_splice:
    case SYS_copy_file_range:
      return kSpared;  // the call would end with what it has written so far
    default:
      return 3;  // may need the rewind, which gives it its full timeout again
  }
}

}  // namespace

std::vector<Tid> first_threads(Pid pid) {
  constexpr std::size_t enough = 64;
  auto tids = procfs::threads(pid);
  if (tids.size() > enough) tids.resize(enough);
  std::erase_if(tids, [pid](Tid tid) { return procfs::is_kernel_worker(pid, tid); });
  return tids;
}

std::vector<VictimCandidate> victim_candidates(Pid pid, ForkingThreads& forking) {
  std::vector<VictimCandidate> candidates;
  for (const Tid tid : first_threads(pid))
    candidates.push_back({stop_rank(pid, tid, forking), tid});
  std::stable_sort(
      candidates.begin(), candidates.end(),
      [](const VictimCandidate& a, const VictimCandidate& b) { return a.rank < b.rank; });
  return candidates;
}

}  // namespace causalctl::tracee
