#include "controller/perf/core_clocks.h"

#include <utility>

#include "controller/base/clock.h"
#include "controller/perf/jitter.h"

namespace causalctl::perf {
namespace {

constexpr Nanoseconds kPeriodsBetweenDraws = 100;

}  // namespace

perf_event_attr core_clock_attr(const SamplingFields& fields) {
  auto attr = sampling_attr(fields);
  attr.config = PERF_COUNT_SW_CPU_CLOCK;
  attr.exclude_idle = 1;
  return attr;
}

void CoreClocks::add(EventFd event, std::size_t core) {
  clocks_.push_back({std::move(event), core, mean_ns_});
}

void CoreClocks::enable(bool on) const {
  for (const Clock& clock : clocks_) on ? clock.event.enable() : clock.event.disable();
}

void CoreClocks::set_mean(Nanoseconds mean_ns) {
  mean_ns_ = mean_ns;
  for (Clock& clock : clocks_) clock.has_sampled = true;
  draw();
}

void CoreClocks::draw() {
  drawn_ns_ = monotonic_now();
  for (Clock& clock : clocks_) {
    if (!std::exchange(clock.has_sampled, false)) continue;
    clock.period_ns = jittered(mean_ns_, random_);
    clock.event.set_period(clock.period_ns);
  }
}

bool CoreClocks::draw_if_due() {
  const bool is_due = monotonic_now() - drawn_ns_ >= kPeriodsBetweenDraws * mean_ns_;
  if (is_due) draw();
  return is_due;
}

}  // namespace causalctl::perf
