// Samples processes by one clock for each core instead of one for each thread.
//
// The clock of a thread is a timer that the kernel must set and cancel at each switch, which costs
// some 7 µs in a virtual machine: a server that leaves its core 28,000 times a second did a third
// less. The clock of a core ticks on. A BPF program drops its samples of other processes, so that
// nothing of them reaches us. Needs the right to look at whole cores (CAP_PERFMON) and CAP_BPF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "controller/perf/attrs.h"
#include "controller/perf/core_clocks.h"
#include "controller/perf/process_bits.h"
#include "controller/perf/record.h"
#include "controller/perf/ring.h"

namespace causalctl::perf {

class CoreSampling {
 public:
  // Opens everything, disabled, for those of `processes` that are sampled at any time. They must
  // have the numbers that we know in the kernel, too (namespace_of_numbers()). Its rings take an
  // eighth of the lockable_pages() at most. `program` is run at each sample in place of its own,
  // and drops the same. Throws Error.
  CoreSampling(const ProcessBits& processes, const SamplingFields& fields, std::size_t lockable,
               std::uint64_t seed, std::optional<int> program = std::nullopt);
  ~CoreSampling();

  void enable(bool on);
  bool cores_changed() const { return clocks_.cores_changed(); }
  // Sets the mean. REQUIRES: everything was read, as samples stand for the period at the reading.
  void set_period(Nanoseconds period_ns);
  void jitter() { clocks_.draw_if_due(); }  // REQUIRES as set_period()
  // Calls use(const SampleRecord&, Nanoseconds since the core's sample before it, nominally) for
  // each sample, and use_other(const Record&) for the rest: losses and throttling. Returns how many
  // records were malformed.
  template <typename Use, typename UseOther>
  std::uint64_t read(Use&& use, UseOther&& use_other);

 private:
  struct Source {  // of a core's samples
    Ring ring;
    std::vector<SampleLayout> layouts;
  };

  struct Program;
  std::unique_ptr<Program> program_;  // null if another one is run
  CoreClocks clocks_;
  std::vector<Source> sources_;  // as clocks_.all()
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
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    CoreClocks::Clock& clock = clocks_.all()[i];
    const bool whole = sources_[i].ring.consume([&](Bytes bytes) {
      const auto record = decode(bytes, sources_[i].layouts);
      if (!record) {
        ++malformed;
      } else if (const auto* sample = std::get_if<SampleRecord>(&*record)) {
        clock.has_sampled = true;
        use(*sample, clock.period_ns);
      } else {
        use_other(*record);
      }
    });
    if (!whole) ++malformed;
  }
  return malformed;
}

}  // namespace causalctl::perf
