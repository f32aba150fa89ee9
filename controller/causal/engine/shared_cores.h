// Whether the target shares its cores with strangers, programs that are neither the target nor a
// peer (rule 13 of docs/virtual-time.md). Pure.
#pragma once

#include <optional>

#include "controller/base/cpu_limits.h"
#include "controller/base/types.h"

namespace causalctl::causal {

// Of the target's threads, summed, since some moment.
struct CoreUse {
  Nanoseconds at_ns = 0;
  Nanoseconds cpu_ns = 0;              // used, that of pauses included
  Nanoseconds peers_cpu_ns = 0;        // used by peers since the update before
  Nanoseconds stranger_wait_ns = 0;    // for cores that strangers had, or a limit withheld
  double withheld_ns = 0;              // … of waits of any length
  double together_ns = 0;              // … while none of the target's threads ran
  std::optional<Nanoseconds> idle_ns;  // of the target's cores; nullopt: not known
};
CoreUse operator-(const CoreUse& now, const CoreUse& before);

class SharedCores {
 public:
  // `use`: since the update before.
  void update(const CoreUse& use, int cores, const CpuLimits& limits);

  // Strangers, or a quota, keep threads waiting.
  bool shared() const { return shared_; }
  // Most waits are those for a quota that is used up in most of its periods.
  bool quota() const { return quota_; }
  // A pause may use CPU time: a core that its thread left would be a stranger's, and there is no
  // quota that such pauses would use up.
  bool may_stand_awake() const { return awake_; }

 private:
  bool shared_ = false;
  bool awake_ = false;
  bool quota_ = false;
};

}  // namespace causalctl::causal
