#include "controller/perf/sampled_event.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/perf/attrs.h"

namespace causalctl::perf {
namespace {

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
      period_(from.first_every, from.fewest_every) {}

std::optional<SampledEvent> SampledEvent::open(const EventTemplate& event, Tid tid,
                                               unsigned stack_bytes, const EventFd& output) {
  auto opened =
      EventFd::open(event_attr(event, stack_bytes, event.first_every), tid, event.what, &output);
  if (!opened) return std::nullopt;
  return SampledEvent(std::move(*opened), event);
}

std::int64_t SampledEvent::number(const SampleRecord& record) const {
  std::int64_t number = 0;
  if (number_offset_ && record.raw.size() >= sizeof number &&
      *number_offset_ <= record.raw.size() - sizeof number) {
    std::memcpy(&number, record.raw.data() + *number_offset_, sizeof number);
  }
  return number;
}

void SampledEvent::adapt(unsigned most, std::uint64_t random) {
  const auto period = period_.adapt(most, random);
  if (!period) return;
  const std::uint64_t before = event_.read_count();
  event_.set_period(static_cast<Nanoseconds>(*period));
  period_.was_set(before, event_.read_count());
}

}  // namespace causalctl::perf
