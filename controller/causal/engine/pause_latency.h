// How long it takes from a sample to the pause that it causes. Pure.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::causal {

class PauseLatency {
 public:
  // A pause of `thread` is requested because of a sample at `sample_ns`.
  void asked(Tid thread, Nanoseconds sample_ns) { asked_for_ns_[thread] = sample_ns; }
  // The request for `thread` is done: its pause was from `start_ns` to `end_ns`, or its shot was
  // void.
  void came(Tid thread, Nanoseconds start_ns, Nanoseconds end_ns);

  Nanoseconds quantile(double which) const;  // 0 if there was no pause

 private:
  std::unordered_map<Tid, Nanoseconds> asked_for_ns_;  // the time of the sample
  std::vector<Nanoseconds> latencies_ns_;
};

}  // namespace causalctl::causal
