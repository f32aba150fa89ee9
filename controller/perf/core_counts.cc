#include "controller/perf/core_counts.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/hexadecimal.h"
#include "controller/base/statistics.h"
#include "controller/perf/attrs.h"
#include "controller/perf/bpf/core_counts.h"
#include "controller/perf/bpf/core_counts.skel.h"
#include "controller/perf/bpf_numbers.h"
#include "controller/perf/bpf_program.h"

namespace causalctl::perf {
namespace {

constexpr std::uint32_t kBatch = 4096;  // places that are read by one call
constexpr int kSpins = 10;
constexpr Nanoseconds kSpin = 10 * kMillisecond;
constexpr Nanoseconds kSpinPeriod = kMillisecond / 5;
constexpr Nanoseconds kLeastCost = kMicrosecond;  // of an interrupt

CountedPlace translated(const ::CountedPlace& place, const PlaceCount& count) {
  CountedPlace counted;
  counted.in_kernel = place.process == COUNTED_KERNEL;
  if (place.process == COUNTED_FILE) {
    counted.build_id = hexadecimal(std::as_bytes(std::span(place.build_id)));
  }
  counted.address = place.address;
  counted.samples = count.samples;
  counted.time_ns = static_cast<Nanoseconds>(count.time_ns);
  counted.process = static_cast<Pid>(count.process);
  counted.latest = count.address;
  return counted;
}

struct Spun {
  double rounds = 0, cpu_ns = 0;
};

Spun spin(Nanoseconds length_ns) {
  Spun spun;
  const Nanoseconds begin_ns = process_cpu_now(), end_ns = monotonic_now() + length_ns;
  while (monotonic_now() < end_ns) ++spun.rounds;
  spun.cpu_ns = static_cast<double>(process_cpu_now() - begin_ns);
  return spun;
}

}  // namespace

struct CoreCounts::Program {
  Program(const ProcessBits* processes, const CountingOptions& options) {
    set_namespace_of(*object->rodata, getpid());
    const bool follows = options.children && !namespace_of_numbers(getpid());
    bpf_program__set_autoload(object->progs.causalctl_child, follows);
    object->rodata->all_processes = processes == nullptr ? 1 : 0;
    if (processes != nullptr) {
      share_map(object->maps.watched_processes, processes->descriptor());
    }
    bpf_map__set_max_entries(object->maps.places, options.most_places);
    object.load();
    if (follows) object.attach();
  }
  int descriptor() const { return bpf_program__fd(object->progs.causalctl_counts); }
  int places() const { return bpf_map__fd(object->maps.places); }

  BpfObject<core_counts_bpf> object;
};

CoreCounts::CoreCounts(std::shared_ptr<ProcessBits> processes, const CountingOptions& options)
    : processes_(std::move(processes)),
      period_ns_(options.period_ns),
      seed_(options.seed),
      program_(std::make_unique<Program>(processes_.get(), options)),
      clocks_(options.period_ns, options.seed) {
  open_cores();
}

CoreCounts::~CoreCounts() = default;

void CoreCounts::open_cores() {
  const std::size_t cores = std::min<std::size_t>(all_cores(), COUNTED_CORES);
  const auto attr = core_clock_attr({.period_ns = period_ns_, .call_chain_depth = 0});
  for (std::size_t number = 0; number < cores; ++number) {
    auto event = EventFd::open_on_core(attr, static_cast<int>(number), "sampling of a core");
    if (!event) continue;  // it is offline
    event->set_program(program_->descriptor());
    clocks_.add(std::move(*event), number);
  }
  clocks_.draw();
  tell_periods();
}

void CoreCounts::reopen_cores() {
  clocks_ = CoreClocks(period_ns_, ++seed_);
  open_cores();
  enable(is_on_);
}

void CoreCounts::enable(bool on) {
  is_on_ = on;
  clocks_.enable(on);
}

// Which core has sampled is not known.
void CoreCounts::tell_periods() {
  for (CoreClocks::Clock& clock : clocks_.all()) {
    clock.has_sampled = true;
    __atomic_store_n(&program_->object->bss->period_of[clock.core],
                     static_cast<std::uint64_t>(clock.period_ns), __ATOMIC_RELAXED);
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
  if (clocks_.draw_if_due()) tell_periods();
  return drained;
}

std::uint64_t CoreCounts::unplaced() {
  const std::uint64_t now = __atomic_load_n(&program_->object->bss->unplaced, __ATOMIC_RELAXED);
  return now - std::exchange(unplaced_told_, now);
}

// What a thread does in its CPU time with samples and without, in turns. The medians count, so that
// a stall of the machine spoils only one.
Nanoseconds measure_sample_cost() {
  auto ourselves = std::make_shared<ProcessBits>();
  ourselves->sample(getpid());
  CoreCounts counts(ourselves, {.period_ns = kSpinPeriod});
  std::vector<double> costs;
  for (int i = 0; i < kSpins; ++i) {
    const Spun without = spin(kSpin);
    counts.enable(true);
    const Spun with = spin(kSpin);
    counts.enable(false);
    std::uint64_t samples = 0;
    for (const CountedPlace& place : counts.drain()) samples += place.samples;
    if (samples == 0 || without.rounds <= 0) continue;  // others had the core
    const double expected = without.rounds * with.cpu_ns / without.cpu_ns;
    costs.push_back((1 - with.rounds / expected) * with.cpu_ns / static_cast<double>(samples));
  }
  if (costs.empty()) throw Error("clocks of the cores were opened, but no sample came");
  return std::max(kLeastCost, static_cast<Nanoseconds>(statistics::median(costs)));
}

}  // namespace causalctl::perf
