#include "controller/perf/core_counts.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/statistics.h"
#include "controller/perf/attrs.h"
#include "controller/perf/bpf/core_counts.h"
#include "controller/perf/bpf/core_counts.skel.h"
#include "controller/perf/bpf_numbers.h"
#include "controller/perf/bpf_program.h"
#include "controller/perf/jitter.h"

namespace causalctl::perf {
namespace {

constexpr std::uint32_t kBatch = 4096;  // places that are read by one call
constexpr int kTrials = 10;
constexpr Nanoseconds kTrial = 10 * kMillisecond;
constexpr Nanoseconds kTrialPeriod = kMillisecond / 5;

perf_event_attr clock_attr(Nanoseconds period_ns) {
  auto attr = sampling_attr({.period_ns = period_ns, .call_chain_depth = 0});
  attr.config = PERF_COUNT_SW_CPU_CLOCK;
  attr.exclude_idle = 1;
  return attr;
}

std::string in_hexadecimal(const std::array<std::uint8_t, COUNTED_BUILD_ID_BYTES>& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

CountedPlace translated(const ::CountedPlace& place, const PlaceCount& count) {
  CountedPlace counted;
  counted.in_kernel = place.process == COUNTED_KERNEL;
  if (place.process == 0) {
    std::array<std::uint8_t, COUNTED_BUILD_ID_BYTES> bytes{};
    std::copy(std::begin(place.build_id), std::end(place.build_id), bytes.begin());
    counted.build_id = in_hexadecimal(bytes);
  }
  counted.address = place.address;
  counted.samples = count.samples;
  counted.time_ns = static_cast<Nanoseconds>(count.time_ns);
  counted.process = static_cast<Pid>(count.process);
  counted.latest = count.address;
  return counted;
}

std::uint64_t spin(Nanoseconds length_ns) {
  std::uint64_t rounds = 0;
  const Nanoseconds end_ns = monotonic_now() + length_ns;
  while (monotonic_now() < end_ns) ++rounds;
  return rounds;
}

}  // namespace

struct CoreCounts::Program {
  explicit Program(const ProcessBits* processes) {
    set_namespace_of(*object->rodata, getpid());
    object->rodata->all_processes = processes == nullptr ? 1 : 0;
    if (processes != nullptr) {
      share_map(object->maps.watched_processes, processes->descriptor());
    }
    object.load();
  }
  int descriptor() const { return bpf_program__fd(object->progs.causalctl_counts); }
  int places() const { return bpf_map__fd(object->maps.places); }

  BpfObject<core_counts_bpf> object;
};

CoreCounts::CoreCounts(std::shared_ptr<ProcessBits> processes, Nanoseconds period_ns,
                       std::uint64_t seed)
    : processes_(std::move(processes)),
      period_ns_(period_ns),
      random_(seed),
      program_(std::make_unique<Program>(processes_.get())) {
  open_cores();
}

CoreCounts::~CoreCounts() = default;

void CoreCounts::open_cores() {
  const std::size_t cores = std::min<std::size_t>(all_cores(), COUNTED_CORES);
  for (std::size_t number = 0; number < cores; ++number) {
    auto event = EventFd::open_on_core(clock_attr(period_ns_), static_cast<int>(number),
                                       "sampling of a core");
    if (!event) continue;  // it is offline
    event->set_program(program_->descriptor());
    cores_.push_back({std::move(*event), number});
  }
  draw_periods();
}

void CoreCounts::reopen_cores() {
  cores_.clear();
  online_ = CoresOnline();
  open_cores();
  enable(is_on_);
}

void CoreCounts::enable(bool on) {
  is_on_ = on;
  for (const Core& core : cores_) on ? core.event.enable() : core.event.disable();
}

void CoreCounts::set_period(Nanoseconds period_ns) {
  period_ns_ = period_ns;
  draw_periods();
}

void CoreCounts::draw_periods() {
  for (const Core& core : cores_) {
    const Nanoseconds period_ns = jittered(period_ns_, random_);
    core.event.set_period(period_ns);
    __atomic_store_n(&program_->object->bss->period_of[core.number],
                     static_cast<std::uint64_t>(period_ns), __ATOMIC_RELAXED);
  }
}

std::vector<CountedPlace> CoreCounts::drain() {
  std::vector<CountedPlace> drained;
  std::vector<::CountedPlace> keys(kBatch);
  std::vector<PlaceCount> values(kBatch);
  std::uint32_t in = 0, out = 0;
  for (bool is_first = true;; is_first = false) {
    std::uint32_t count = kBatch;
    const int result =
        bpf_map_lookup_and_delete_batch(program_->places(), is_first ? nullptr : &in, &out,
                                        keys.data(), values.data(), &count, nullptr);
    const int error_number = errno;
    if (result != 0 && error_number != ENOENT) {
      throw Error::from_errno("bpf(BPF_MAP_LOOKUP_AND_DELETE_BATCH)", error_number);
    }
    for (std::uint32_t i = 0; i < count; ++i) drained.push_back(translated(keys[i], values[i]));
    if (result != 0) break;  // these were the last ones
    in = out;
  }
  draw_periods();
  return drained;
}

std::uint64_t CoreCounts::unplaced() {
  const std::uint64_t now = __atomic_load_n(&program_->object->bss->unplaced, __ATOMIC_RELAXED);
  return now - std::exchange(unplaced_told_, now);
}

// What a thread does with samples and without, in turns. The medians count, so that a stall of the
// machine spoils only one.
Nanoseconds measure_sample_cost() {
  auto ourselves = std::make_shared<ProcessBits>();
  ourselves->sample(getpid());
  CoreCounts counts(ourselves, kTrialPeriod, 1);
  std::vector<double> costs;
  for (int i = 0; i < kTrials; ++i) {
    const auto without = static_cast<double>(spin(kTrial));
    counts.enable(true);
    const auto with = static_cast<double>(spin(kTrial));
    counts.enable(false);
    std::uint64_t samples = 0;
    for (const CountedPlace& place : counts.drain()) samples += place.samples;
    if (samples == 0) throw Error("clocks of the cores were opened, but no sample came");
    costs.push_back((1 - with / without) * static_cast<double>(kTrial) /
                    static_cast<double>(samples));
  }
  return std::max<Nanoseconds>(0, static_cast<Nanoseconds>(statistics::median(costs)));
}

}  // namespace causalctl::perf
