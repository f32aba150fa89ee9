#include "controller/pause/shot_filter.h"

#include <bpf/libbpf.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/facility.h"
#include "controller/base/restrictions.h"
#include "controller/pause/sigtrap_channel.h"
#include "controller/perf/attrs.h"
#include "controller/perf/bpf/shot_filter.h"
#include "controller/perf/bpf/shot_filter.skel.h"
#include "controller/perf/bpf_program.h"

namespace causalctl::pause {
namespace {

static_assert(ShotFilter::kSlots == SHOT_SLOTS);

constexpr Address kNobody = 2;  // no handler has this address

std::atomic<int> own_traps;

}  // namespace

struct ShotFilter::Program {
  ShotShared& shared() const { return object->bss->shared; }

  perf::BpfObject<shot_filter_bpf> object;
};

ShotFilter::ShotFilter() = default;
ShotFilter::~ShotFilter() = default;
ShotFilter::ShotFilter(ShotFilter&&) noexcept = default;
ShotFilter& ShotFilter::operator=(ShotFilter&&) noexcept = default;

std::optional<ShotFilter> ShotFilter::load(Address handler, std::string& reason) {
  try {
    ShotFilter filter;
    filter.program_ = std::make_unique<Program>();
    auto& object = filter.program_->object;
    object->rodata->handler = handler;
    object->rodata->first_period = static_cast<std::uint64_t>(kShotPeriod);
    object->rodata->frame_bytes = pause_frame_bytes();
    object.load();
    return filter;
  } catch (const Error& error) {
    reason = error.what();
    return std::nullopt;
  }
}

void ShotFilter::attach(const perf::EventFd& shot) const {
  shot.set_program(bpf_program__fd(program_->object->progs.causalctl_shot));
}

ShotFilter::Obstacle ShotFilter::obstacle() const {
  const auto word = __atomic_load_n(&program_->shared().reasons, __ATOMIC_ACQUIRE);
  if ((word & SHOT_SECCOMP) != 0) return Obstacle::seccomp;
  if ((word & SHOT_DISPATCH) != 0) return Obstacle::dispatch;
  return word != 0 ? Obstacle::handler : Obstacle::none;
}

Nanoseconds ShotFilter::shot_period(unsigned slot) {
  return kShotPeriod + static_cast<Nanoseconds>(slot % kSlots);
}

void ShotFilter::set_stack(unsigned slot, const std::optional<StackRange>& range) {
  ShotSlot& each = program_->shared().slots[slot % kSlots];
  const StackRange now = range.value_or(StackRange{});
  // In either order of the two stores, nothing passes that neither the old nor the new range has.
  __atomic_store_n(&each.high, Address{0}, __ATOMIC_SEQ_CST);
  __atomic_store_n(&each.low, now.low, __ATOMIC_SEQ_CST);
  __atomic_store_n(&each.high, now.high, __ATOMIC_SEQ_CST);
  __atomic_store_n(&each.stack_pointer, Address{0}, __ATOMIC_SEQ_CST);
}

std::optional<ShotFilter::Place> ShotFilter::take_suppressed_for_stack(unsigned slot) {
  ShotSlot& each = program_->shared().slots[slot % kSlots];
  Place place;
  place.stack_pointer = __atomic_exchange_n(&each.stack_pointer, Address{0}, __ATOMIC_ACQ_REL);
  if (place.stack_pointer == 0) return std::nullopt;
  place.control_block = __atomic_load_n(&each.control_block, __ATOMIC_ACQUIRE);
  return place;
}

// Fires a shot at ourselves through a filter that no handler passes. Returns nullopt if it did not
// fire within our patience.
std::optional<bool> ShotFilter::suppresses() {
  constexpr Nanoseconds patience_ns = 50 * kMillisecond;
  constexpr Nanoseconds after_ns = kMillisecond;
  struct sigaction action {};
  struct sigaction previous {};
  action.sa_handler = [](int) { ++own_traps; };
  if (sigaction(SIGTRAP, &action, &previous) != 0) return false;
  own_traps = 0;
  bool tripped = false;
  bool possible = false;
  try {
    std::string reason;
    const auto filter = load(kNobody, reason);
    const auto shot = perf::EventFd::open(perf::sigtrap_attr(0, kShotPeriod), 0, "pause event");
    if (filter && shot) {
      filter->attach(*shot);
      shot->refresh(1);
      Nanoseconds deadline_ns = monotonic_now() + patience_ns;
      while (filter->obstacle() == Obstacle::none && own_traps == 0 &&
             monotonic_now() < deadline_ns)
        continue;
      deadline_ns = monotonic_now() + after_ns;
      while (own_traps == 0 && monotonic_now() < deadline_ns) continue;
      shot->disable();
      tripped = filter->obstacle() != Obstacle::none;
      possible = true;
    }
  } catch (const Error&) {  // an old kernel refuses the program on such an event
    tripped = false;
  }
  sigaction(SIGTRAP, &previous, nullptr);
  if (possible && !tripped && own_traps == 0) return std::nullopt;
  return tripped && own_traps == 0;
}

Trial ShotFilter::try_out() {
  constexpr int tries = 5;  // several, because the machine may stall
  const auto result = [](Outcome outcome, std::string finding) {
    return Trial{Facility::bpf, outcome, std::move(finding), "", 0};
  };
  std::string reason;
  if (!load(kNobody, reason)) {
    return {Facility::bpf, Outcome::refused, reason, restriction(GuardedCall::bpf), 0};
  }
  std::optional<bool> suppressed;
  for (int i = 0; i < tries && !suppressed; ++i) suppressed = suppresses();
  if (!suppressed || is_pretended_broken(Facility::bpf)) {
    return result(Outcome::never_fired, "a program was loaded, but never ran at its event");
  }
  if (*suppressed)
    return result(Outcome::seen, "a program ran at an event and held its signal back");
  return result(Outcome::refused,
                "the kernel's BPF programs do not hold signals back (Linux 6.11 does)");
}

const Trial& ShotFilter::trial() {
  static const Trial trial = try_out();
  return trial;
}

std::optional<ShotFilter> ShotFilter::make(Address handler, std::string& reason) {
  if (is_pretended_broken(Facility::bpf)) {
    reason = "BPF programs are pretended not to work";
    return std::nullopt;
  }
  auto filter = load(handler, reason);
  if (!filter || trial().is_seen()) return filter;
  reason = trial().finding;
  return std::nullopt;
}

}  // namespace causalctl::pause
