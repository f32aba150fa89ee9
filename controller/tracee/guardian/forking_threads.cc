#include "controller/tracee/guardian/forking_threads.h"

#include "controller/base/clock.h"
#include "controller/base/procfs.h"

namespace causalctl::tracee {

void ForkingThreads::poll(const std::vector<Tid>& tids) {
  if (tids.size() < 2) return;  // there is no other thread to wake
  constexpr int polls = 4;
  constexpr Nanoseconds apart_ns = kMillisecond;  // longer than a fork
  for (int i = 0; i < polls; ++i) {
    if (i > 0) sleep_until(monotonic_now() + apart_ns);
    for (const Tid tid : tids) contains(tid);
  }
}

bool ForkingThreads::contains(Tid tid) {
  if (seen_.count(tid) != 0) return true;
  if (!procfs::has_children(pid_, tid)) return false;
  seen_.insert(tid);
  return true;
}

}  // namespace causalctl::tracee
