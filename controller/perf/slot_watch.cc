#include "controller/perf/slot_watch.h"

#include <linux/hw_breakpoint.h>

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/statistics.h"
#include "controller/perf/attrs.h"
#include "controller/perf/trials.h"

namespace causalctl::perf {
namespace {

constexpr unsigned kSlotRingPages = 1;
constexpr const char* kWhat = "watch of a return address";
constexpr std::uint64_t kInstructionPointer = 1 << 8;  // asm/perf_regs.h
alignas(8) volatile std::uint64_t some_word = 0;

perf_event_attr slot_attr(Address slot) {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_BREAKPOINT;
  attr.bp_type = HW_BREAKPOINT_RW;
  attr.bp_addr = slot;
  attr.bp_len = HW_BREAKPOINT_LEN_8;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  attr.sample_period = 1;
  attr.sample_type = PERF_SAMPLE_REGS_USER;
  attr.sample_regs_user = kStackPointer | kInstructionPointer;
  return with_common_fields(attr);
}

}  // namespace

SlotWatch::SlotWatch(Tid tid, EventFd owner, Ring ring)
    : tid_(tid), owner_(std::move(owner)), ring_(std::move(ring)) {}

std::optional<SlotWatch> SlotWatch::open(Tid tid) {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.exclude_kernel = 1;
  auto owner = EventFd::open(with_common_fields(attr), tid, kWhat);
  if (!owner) return std::nullopt;
  Ring ring(owner->map_ring(kSlotRingPages));
  return SlotWatch(tid, std::move(*owner), std::move(ring));
}

std::optional<Nanoseconds> SlotWatch::watch(Address slot) {
  stop();
  ring_.consume([](Bytes) {});  // what came after the last hit()
  hit_.reset();
  auto event = EventFd::open(slot_attr(slot), tid_, kWhat, &owner_);
  if (!event) return std::nullopt;
  event_ = std::move(*event);
  event_.refresh(1);
  return monotonic_now();
}

std::optional<SlotWatch::Hit> SlotWatch::hit() {
  if (!event_) return hit_;
  const SampleLayout layout{event_.id(), event_.attr().sample_type, event_.attr().sample_regs_user};
  ring_.consume([&](Bytes bytes) {
    const auto record = decode(bytes, {&layout, 1});
    const auto* sample = record ? std::get_if<SampleRecord>(&*record) : nullptr;
    if (hit_ || sample == nullptr || sample->registers.size() < 2) return;
    hit_ = Hit{sample->common.time_ns, sample->registers[1], sample->registers[0]};
  });
  return hit_;
}

Trial try_slot_watch() {
  return try_out(Facility::slot_watch, "a watch of a word of memory did not fire",
                 []() -> std::optional<std::string> {
                   auto watch = SlotWatch::open(0);
                   if (!watch) return std::nullopt;
                   const auto before_ns = watch->watch(reinterpret_cast<Address>(&some_word));
                   some_word = 1;
                   auto hit = watch->hit();
                   const Nanoseconds after_ns = monotonic_now();
                   if (!hit || hit->time_ns < before_ns.value_or(0) || hit->time_ns > after_ns) {
                     return std::nullopt;
                   }
                   watch->watch(reinterpret_cast<Address>(&some_word));
                   const std::uint64_t read = some_word;
                   hit = watch->hit();
                   if (read != 1 || !hit) return std::nullopt;
                   return "a write and a read of a word fire";
                 });
}

Nanoseconds slot_watch_delay() {
  constexpr int kTries = 15;
  std::vector<double> delays;
  auto watch = SlotWatch::open(0);
  for (int i = 0; watch && i < kTries; ++i) {
    if (!watch->watch(reinterpret_cast<Address>(&some_word))) break;
    const Nanoseconds before_ns = monotonic_now();
    some_word = 1;
    if (const auto hit = watch->hit()) {
      delays.push_back(static_cast<double>(hit->time_ns - before_ns));
    }
  }
  return delays.empty() ? 0 : static_cast<Nanoseconds>(statistics::median(delays));
}

}  // namespace causalctl::perf
