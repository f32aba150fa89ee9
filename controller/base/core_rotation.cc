#include "controller/base/core_rotation.h"

#include <sched.h>

#include <algorithm>

namespace causalctl {
namespace {

// A move is dear: the kernel's stopper thread does it. Often enough to be fair within an
// experiment.
constexpr Nanoseconds kStay = 25 * kMillisecond;

}  // namespace

CoreRotation::CoreRotation(std::uint64_t seed) : random_(seed) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) cores_.push_back(static_cast<int>(core));
  }
}

CoreRotation::~CoreRotation() {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (const int core : cores_) CPU_SET(core, &all);
  if (cores_.size() > 1) (void)sched_setaffinity(0, sizeof(all), &all);
}

void CoreRotation::move_on() {
  const Nanoseconds now_ns = now();
  if (cores_.size() < 2 || now_ns - moved_at_ns_ < kStay) return;
  moved_at_ns_ = now_ns;
  if (next_ == 0) std::shuffle(cores_.begin(), cores_.end(), random_);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cores_[next_], &one);
  next_ = (next_ + 1) % cores_.size();
  (void)sched_setaffinity(0, sizeof(one), &one);  // a core that went offline: stay
}

void CoreRotation::sleep_until(Nanoseconds deadline_ns) {
  move_on();
  causalctl::sleep_until(deadline_ns);
}

}  // namespace causalctl
