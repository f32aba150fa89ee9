#include "controller/perf/sampled_event.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/perf/attrs.h"

namespace causalctl::perf {
namespace {

constexpr std::uint64_t kMostEvery = 1ULL << 32;
constexpr std::uint64_t kEventRedrawn = 16;  // once in so many calls a period is drawn without need
// Calls after which more events are sampled, if there were few samples in all of them: events that
// come in bursts would otherwise fill the ring each time.
constexpr unsigned kEventCalls = 8;
constexpr std::uint64_t kMostSkipped = 15;
constexpr std::uint64_t kOwedParts = 8;
constexpr std::uint16_t kChainDepth = 127;  // of frame pointers, which Go's chains need

}  // namespace

perf_event_attr event_attr(const EventTemplate& event, unsigned stack_bytes, std::uint64_t every) {
  auto attr = with_common_fields(event.attr);
  attr.sample_period = every;
  attr.sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN |
                      PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  if (event.wakes || event.number_offset) attr.sample_type |= PERF_SAMPLE_RAW;
  attr.exclude_callchain_kernel = 1;
  attr.sample_max_stack = kChainDepth;
  attr.sample_regs_user = kUserRegisters;
  attr.sample_stack_user = stack_bytes;
  return attr;
}

bool counts_cycles(std::string& reason) {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_HARDWARE;
  attr.config = PERF_COUNT_HW_CPU_CYCLES;
  attr.exclude_kernel = 1;
  attr = with_common_fields(attr);
  try {
    const auto event = EventFd::open(attr, 0, "cycles");
    if (!event) return false;
    event->enable();
    const Nanoseconds until_ns = monotonic_now() + kMillisecond;
    while (monotonic_now() < until_ns) {
    }
    if (event->read_count() > 0) return true;
    reason = "a counter of cycles can be opened, but it counted none in 1 ms of work";
  } catch (const Error& error) {
    reason = error.what();
  }
  return false;
}

SampledEvent::SampledEvent(EventFd event, const EventTemplate& from)
    : event_(std::move(event)),
      tag_(from.tag),
      wakes_(from.wakes),
      number_offset_(from.number_offset),
      fewest_every_(from.fewest_every),
      every_(from.first_every) {}

std::optional<SampledEvent> SampledEvent::open(const EventTemplate& event, Tid tid,
                                               unsigned stack_bytes, const EventFd& output) {
  auto opened =
      EventFd::open(event_attr(event, stack_bytes, event.first_every), tid, event.what, &output);
  if (!opened) return std::nullopt;
  return SampledEvent(std::move(*opened), event);
}

std::optional<std::uint64_t> SampledEvent::worth(const SampleRecord& record) {
  ++seen_;
  if (record.count <= last_count_) return std::nullopt;
  const std::uint64_t passed = record.count - std::exchange(last_count_, record.count);
  const bool is_forced = record.count > set_after_ && record.count <= set_before_;
  if (is_forced || skipped_ > 0) {
    if (!is_forced) --skipped_;
    owed_ += passed;
    return std::nullopt;
  }
  const std::uint64_t part = (owed_ + kOwedParts - 1) / kOwedParts;
  owed_ -= part;
  return passed + part;
}

std::int64_t SampledEvent::number(const SampleRecord& record) const {
  std::int64_t number = 0;
  if (number_offset_ && record.raw.size() >= sizeof number &&
      *number_offset_ <= record.raw.size() - sizeof number) {
    std::memcpy(&number, record.raw.data() + *number_offset_, sizeof number);
  }
  return number;
}

// In the kernel (__perf_event_period() of kernel/events/core.c) a new period ends the one that
// runs: the very next event is sampled, whichever it is. The event's count before and after tells
// which sample that was. Of a thread that waits, the period begins with its next event, which may
// be the same one of a loop each time. So a random number of samples is left out, of which the most
// reach beyond one round of such a loop.
void SampledEvent::adapt(unsigned most, std::uint64_t random) {
  const unsigned seen = std::exchange(seen_, 0);
  const std::uint64_t before = every_;
  if (seen > most) every_ = std::min(every_ * (seen / most + 1), kMostEvery);
  recent_ += seen;
  if (++calls_ == kEventCalls) {
    calls_ = 0;
    if (std::exchange(recent_, 0) <= most * kEventCalls / 2)
      every_ = std::max(every_ / 2, fewest_every_);
  }
  const bool redraws = seen > 0 && every_ > 1 && random % kEventRedrawn == 0;
  if (every_ == before && !redraws) return;
  const std::uint64_t half = every_ / 2;
  const std::uint64_t period =
      every_ == 1 ? 1 : prime_from(every_ - half / 2 + (random / kEventRedrawn) % (half + 1));
  skipped_ = period == 1 ? 0 : (random >> 32U) % (kMostSkipped + 1);
  set_after_ = event_.read_count();
  event_.set_period(static_cast<Nanoseconds>(period));
  set_before_ = period == 1 ? set_after_ : event_.read_count() + 1;
}

std::uint64_t prime_from(std::uint64_t number) {
  const auto is_prime = [](std::uint64_t n) {
    for (std::uint64_t divisor = 2; divisor * divisor <= n; ++divisor) {
      if (n % divisor == 0) return false;
    }
    return n > 1;
  };
  while (!is_prime(number)) ++number;
  return number;
}

}  // namespace causalctl::perf
