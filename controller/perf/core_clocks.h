// The clocks by which cores are sampled, one each. The period of each is drawn around a mean
// (jitter.h), now and then: setting a period interrupts the core, and the kernel then begins a
// whole period anew, so that half a period without a sample is lost on average.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "controller/base/types.h"
#include "controller/perf/attrs.h"
#include "controller/perf/cores_online.h"
#include "controller/perf/event.h"

namespace causalctl::perf {

perf_event_attr core_clock_attr(const SamplingFields& fields);  // not while the core is idle

class CoreClocks {
 public:
  struct Clock {
    EventFd event;
    std::size_t core = 0;
    Nanoseconds period_ns = 0;
    bool has_sampled = true;  // since the period was drawn
  };

  CoreClocks(Nanoseconds mean_ns, std::uint64_t seed) : mean_ns_(mean_ns), random_(seed) {}

  void add(EventFd event, std::size_t core);
  // Those of the cores that were online when this was made, whose order stays.
  std::vector<Clock>& all() { return clocks_; }
  bool cores_changed() const { return online_.changed(); }
  void enable(bool on) const;
  void set_mean(Nanoseconds mean_ns);  // draws all periods
  void draw();  // new periods for those that have sampled; the others are left alone
  // The same, once in 100 periods at most. Returns whether it did.
  bool draw_if_due();

 private:
  Nanoseconds mean_ns_;
  Nanoseconds drawn_ns_ = 0;  // when the periods were drawn
  std::mt19937_64 random_;
  CoresOnline online_;
  std::vector<Clock> clocks_;
};

}  // namespace causalctl::perf
