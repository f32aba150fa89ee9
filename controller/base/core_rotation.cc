#include "controller/base/core_rotation.h"

#include <sched.h>

#include <algorithm>

#include "controller/base/procfs.h"

namespace causalctl {
namespace {

// Moving to another core is costly, because the kernel's stopper thread has to run for it. One move
// in 25 ms is often enough to treat all cores alike within an experiment.
constexpr Nanoseconds kStay = 25 * kMillisecond;
constexpr Nanoseconds kPollEvery = 900 * kMillisecond;

std::vector<int> allowed_cores() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return {};
  return cores_in(allowed);
}

std::vector<CoreTimes> times_of(const std::vector<int>& cores) {
  std::vector<CoreTimes> times = core_times_now();
  std::erase_if(times, [&](const CoreTimes& each) {
    return std::find(cores.begin(), cores.end(), each.core) == cores.end();
  });
  return times;
}

}  // namespace

std::vector<int> cores_in(const cpu_set_t& set) {
  std::vector<int> cores;
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(static_cast<int>(core));
  }
  return cores;
}

std::vector<CoreTimes> core_times_now() {
  return parse_core_times(procfs::read_text("/proc/stat").value_or(""));
}

CoreRotation::CoreRotation(std::uint64_t seed)
    : cores_(allowed_cores()),
      random_(seed),
      idle_(times_of(cores_)),
      polled_at_ns_(monotonic_now()) {}

CoreRotation::~CoreRotation() {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (const int core : cores_) CPU_SET(core, &all);
  if (cores_.size() > 1) (void)sched_setaffinity(0, sizeof(all), &all);
}

void CoreRotation::move_to(int core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  // fails if the core went offline: the thread then stays
  (void)sched_setaffinity(0, sizeof(one), &one);
}

void CoreRotation::find_idle_core(Nanoseconds now_ns) {
  polled_at_ns_ = now_ns;
  const auto found = idle_.poll(times_of(cores_));
  if (found && found != idle_core_) move_to(*found);
  idle_core_ = found;
}

void CoreRotation::move_on(Nanoseconds now_ns) {
  if (cores_.size() < 2) return;
  if (now_ns - polled_at_ns_ >= kPollEvery && !idle_.hopeless()) find_idle_core(now_ns);
  if (idle_core_ || now_ns - moved_at_ns_ < kStay) return;
  moved_at_ns_ = now_ns;
  if (next_ == 0) std::shuffle(cores_.begin(), cores_.end(), random_);
  move_to(cores_[next_]);
  next_ = (next_ + 1) % cores_.size();
}

std::uint32_t CoreRotation::core() const {
  return static_cast<std::uint32_t>(std::max(sched_getcpu(), 0));
}

void CoreRotation::sleep_until(Nanoseconds deadline_ns) {
  move_on(now());
  causalctl::sleep_until(deadline_ns);
}

}  // namespace causalctl
