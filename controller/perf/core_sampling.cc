#include "controller/perf/core_sampling.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/procfs.h"
#include "controller/perf/bpf/core_samples.h"
#include "controller/perf/bpf/core_samples.skel.h"
#include "controller/perf/bpf_numbers.h"
#include "controller/perf/bpf_program.h"
#include "controller/perf/jitter.h"
#include "controller/perf/ring_sizes.h"
#include "controller/perf/stack_event.h"

namespace causalctl::perf {
namespace {

// As measured in virtual machines: of a switch of a thread with a clock, and of a tick.
constexpr double kSwitchCostNs = 7000;
constexpr double kTickCostNs = 2000;
// The smallest ring of a core, where memory is not short. It has the samples of all threads that
// run there, so that it fills faster than a thread's ring when the reader is late.
constexpr unsigned kFewestPages = 128;
constexpr Nanoseconds kPeriodsBetweenDraws = 100;
constexpr Nanoseconds kLook = 50 * kMillisecond;
// A thread may leave its core any number of times before it is known how often.
constexpr std::uint32_t kEveryAtStart = 16;
constexpr Nanoseconds kOwnTrial = 20 * kMillisecond;

perf_event_attr core_attr(const SamplingFields& fields) {
  auto attr = sampling_attr(fields);
  attr.config = PERF_COUNT_SW_CPU_CLOCK;
  attr.exclude_idle = 1;
  return attr;
}

std::uint64_t switches_of(Pid target) {
  std::uint64_t sum = 0;
  for (const Tid tid : procfs::threads(target)) {
    const auto text = procfs::read_text(fmt::format("/proc/{}/task/{}/schedstat", target, tid));
    if (text) sum += procfs::parse_switches_in(*text);
  }
  return sum;
}

// Of the ring of each core.
unsigned pages_of_core(std::size_t cores, const SamplingFields& fields, bool leaving,
                       std::size_t lockable, unsigned most) {
  constexpr unsigned kMore = 4;  // samples, if those of threads that leave are among them
  const unsigned pages = stack_ring_pages(fields.stack_bytes * (leaving ? kMore : 1), most);
  if (lockable == kAnyMemory) return std::max(pages, std::min(kFewestPages, most));
  return static_cast<unsigned>(
      std::min<std::size_t>(pages, std::bit_floor(std::max<std::size_t>(1, lockable / 8 / cores))));
}

std::size_t cores_configured() {
  return static_cast<std::size_t>(std::max(1L, sysconf(_SC_NPROCESSORS_CONF)));
}

long cores_online() { return std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)); }

}  // namespace

struct CoreSampling::Program {
  explicit Program(Pid target) {
    set_target(*object->rodata, target);
    object.load();
  }
  int of_clock() const { return bpf_program__fd(object->progs.causalctl_core); }
  int of_leaving() const { return bpf_program__fd(object->progs.causalctl_leaves); }
  LeaverSlot& slot(std::size_t number) { return object->bss->leavers[number]; }

  BpfObject<core_samples_bpf> object;
};

CoreSampling::CoreSampling(Pid target, const SamplingFields& fields, bool leaving,
                           std::size_t lockable, std::uint64_t seed)
    : most_pages_(stack_ring_limit(cores_configured())),
      mean_period_ns_(fields.period_ns),
      random_(seed),
      program_(std::make_unique<Program>(target)) {
  const std::size_t cores = cores_configured();
  left_before_.resize(LEAVER_SLOTS);
  for (std::size_t i = 0; i < LEAVER_SLOTS; ++i) program_->slot(i).every = kEveryAtStart;
  const unsigned pages = pages_of_core(cores, fields, leaving, lockable, most_pages_);
  for (std::size_t number = 0; number < cores; ++number) {
    open_core(static_cast<int>(number), fields, leaving, pages);
  }
  draw_periods();
}

CoreSampling::~CoreSampling() = default;

void CoreSampling::open_core(int number, const SamplingFields& fields, bool leaving,
                             unsigned pages) {
  auto opened = open_stack_event(core_attr(fields), pages, [&](const auto& attr) {
    return EventFd::open_on_core(attr, number, "sampling of a core");
  });
  if (!opened) return;  // it is offline
  Core core;
  core.event = std::move(opened->event);
  core.ring = std::move(opened->ring);
  core.event.set_program(program_->of_clock());
  if (leaving) {
    const auto attr =
        leaving_attr(std::min(fields.stack_bytes, most_stack_bytes(core.ring.bytes())), 1);
    auto event = EventFd::open_on_core(attr, number, "sampling of a core's switches", &core.event);
    if (!event) return;
    core.leaving = std::move(*event);
    core.leaving.set_program(program_->of_leaving());
  }
  for (const EventFd* each : {&core.event, &core.leaving}) {
    if (!*each) continue;
    core.layouts.push_back({each->id(), each->attr().sample_type, each->attr().sample_regs_user});
  }
  core.period_ns = fields.period_ns;
  cores_.push_back(std::move(core));
}

void CoreSampling::enable(bool on) {
  for (const Core& core : cores_) {
    for (const EventFd* each : {&core.event, &core.leaving}) {
      if (*each) on ? each->enable() : each->disable();
    }
  }
}

void CoreSampling::adapt_leaving(unsigned most) {
  std::size_t room = 0;
  for (Core& core : cores_) {
    if (!core.leaving) return;
    if (!std::exchange(core.was_left, false)) continue;
    const std::size_t each = core.leaving.attr().sample_stack_user + kSampleOtherBytes;
    room += core.ring.bytes() / 4 * 3 / each;  // less than it holds
  }
  std::vector<std::uint32_t> left(LEAVER_SLOTS);  // how often since the last call
  std::size_t leavers = 0;
  for (std::size_t i = 0; i < LEAVER_SLOTS; ++i) {
    const std::uint32_t all = __atomic_load_n(&program_->slot(i).left, __ATOMIC_RELAXED);
    left[i] = all - std::exchange(left_before_[i], all);
    if (left[i] > 0) ++leavers;
  }
  if (room > 0 && leavers > 0) {
    most = std::clamp(static_cast<unsigned>(room / leavers), 1U, std::max(1U, most));
  }
  for (std::size_t i = 0; i < LEAVER_SLOTS; ++i) {
    if (left_before_[i] == 0) continue;  // it was never used
    LeaverSlot& slot = program_->slot(i);
    const std::uint32_t every = std::max({1U, (left[i] + most - 1) / most, slot.every / 2});
    if (every != slot.every) __atomic_store_n(&slot.every, every, __ATOMIC_RELAXED);
  }
}

void CoreSampling::set_period(Nanoseconds period_ns) {
  mean_period_ns_ = period_ns;
  for (Core& core : cores_) core.has_sampled = true;
  draw_periods();
}

void CoreSampling::jitter() {
  if (monotonic_now() - drawn_ns_ >= kPeriodsBetweenDraws * mean_period_ns_) draw_periods();
}

void CoreSampling::draw_periods() {
  drawn_ns_ = monotonic_now();
  for (Core& core : cores_) {
    if (!std::exchange(core.has_sampled, false)) continue;
    core.period_ns = jittered(mean_period_ns_, random_);
    core.event.set_period(core.period_ns);
  }
}

std::optional<std::string> why_no_core_sampling(bool leaving) {
  try {
    CoreSampling cores(getpid(), {.period_ns = kMillisecond / 2, .stack_bytes = 256}, leaving,
                       lockable_pages(), 1);
    cores.enable(true);
    const Nanoseconds until_ns = process_cpu_now() + kOwnTrial;
    bool seen = false;
    bool left = !leaving;
    bool foreign = false;
    while (!(seen && left) && process_cpu_now() < until_ns) {
      if (!left) sleep_until(monotonic_now() + kMicrosecond);
      const auto use = [&](const SampleRecord& sample, Nanoseconds period_ns) {
        (sample.common.pid != getpid() ? foreign : period_ns > 0 ? seen : left) = true;
      };
      cores.read(use, [](const Record&) {});
    }
    if (foreign) return "samples of other processes were not dropped";
    if (!seen) return "opened, but no sample came";
    if (!left) return "opened, but no sample of a thread that leaves its core came";
    return std::nullopt;
  } catch (const Error& error) {
    return error.what();
  }
}

double switches_per_second(Pid target) {
  const auto status = procfs::thread_status(target, target);
  if (status && (status->state == 'T' || status->state == 't')) return 0;
  const std::uint64_t before = switches_of(target);
  const Nanoseconds start_ns = monotonic_now();
  sleep_until(start_ns + kLook);
  const double passed = static_cast<double>(monotonic_now() - start_ns) / kSecond;
  const std::uint64_t after = switches_of(target);
  return static_cast<double>(after - std::min(before, after)) / passed;
}

bool core_sampling_pays(double switches_per_second, Nanoseconds period_ns) {
  const double ticks =
      static_cast<double>(cores_online()) * kSecond / static_cast<double>(period_ns);
  return switches_per_second * kSwitchCostNs > ticks * kTickCostNs;
}

}  // namespace causalctl::perf
