// Samples processes by one clock for each core instead of one for each thread.
//
// The clock of a thread is a timer that the kernel must set and cancel at each switch, which costs
// some 7 µs in a virtual machine: a server that leaves its core 28,000 times a second did a third
// less. The clock of a core ticks on. A BPF program drops its samples of other processes, so that
// nothing of them reaches us. Needs the right to look at whole cores (CAP_PERFMON) and CAP_BPF.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "controller/perf/attrs.h"
#include "controller/perf/cores_online.h"
#include "controller/perf/event.h"
#include "controller/perf/process_bits.h"
#include "controller/perf/record.h"
#include "controller/perf/ring.h"

namespace causalctl::perf {

class CoreSampling {
 public:
  // Opens everything, disabled, for those of `processes` that are sampled at any time. They must
  // have the numbers that we know in the kernel, too (namespace_of_numbers()). Its rings take an
  // eighth of the lockable_pages() at most. Throws Error.
  CoreSampling(const ProcessBits& processes, const SamplingFields& fields, std::size_t lockable,
               std::uint64_t seed);
  ~CoreSampling();

  void enable(bool on);
  bool cores_changed() const { return online_.changed(); }
  // Sets the mean. REQUIRES: everything was read, as samples stand for the period at the reading.
  void set_period(Nanoseconds period_ns);
  // Draws a new period for each core that has sampled a thread, and leaves the others alone,
  // because setting a period interrupts a core. The kernel then begins a whole period anew, so that
  // half a period without a sample is lost on average: it is done once in 100 periods at most.
  // REQUIRES as set_period().
  void jitter();
  // Calls use(const SampleRecord&, Nanoseconds since the core's sample before it, nominally) for
  // each sample, and use_other(const Record&) for the rest: losses and throttling. Returns how many
  // records were malformed.
  template <typename Use, typename UseOther>
  std::uint64_t read(Use&& use, UseOther&& use_other);

 private:
  struct Core {
    EventFd event;
    Ring ring;
    std::vector<SampleLayout> layouts;
    Nanoseconds period_ns = 0;
    bool has_sampled = true;  // since the period was drawn
  };

  void draw_periods();

  CoresOnline online_;
  Nanoseconds mean_period_ns_;
  Nanoseconds drawn_ns_ = 0;  // when the periods were drawn
  std::mt19937_64 random_;
  struct Program;
  std::unique_ptr<Program> program_;
  std::vector<Core> cores_;
};

// Returns nothing if core sampling was seen to work now, on ourselves; otherwise why not.
std::optional<std::string> why_no_core_sampling();

// Returns how often the threads of all processes together take a core, as seen for 50 ms. If all
// are stopped, as one is that was just launched, this is 0 and takes no time.
double switches_per_second(const std::vector<Pid>& processes);

// Returns whether the clocks of threads that switch so often cost more than those of the cores.
bool core_sampling_pays(double switches_per_second, Nanoseconds period_ns);

template <typename Use, typename UseOther>
std::uint64_t CoreSampling::read(Use&& use, UseOther&& use_other) {
  std::uint64_t malformed = 0;
  for (Core& core : cores_) {
    const bool whole = core.ring.consume([&](Bytes bytes) {
      const auto record = decode(bytes, core.layouts);
      if (!record) {
        ++malformed;
      } else if (const auto* sample = std::get_if<SampleRecord>(&*record)) {
        core.has_sampled = true;
        use(*sample, core.period_ns);
      } else {
        use_other(*record);
      }
    });
    if (!whole) ++malformed;
  }
  return malformed;
}

}  // namespace causalctl::perf
