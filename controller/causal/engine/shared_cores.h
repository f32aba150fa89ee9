// Whether the target shares its cores with strangers, programs that are neither the target nor a
// peer (rule 13 of docs/virtual-time.md). Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "controller/base/cpu_limits.h"
#include "controller/base/types.h"

namespace causalctl::causal {

// How the target's threads used cores, summed over threads, since some moment.
struct CoreUse {
  Nanoseconds at_ns = 0;
  Nanoseconds cpu_ns = 0;        // used, that of pauses included
  Nanoseconds peers_cpu_ns = 0;  // used by peers since the update before
  // waited for cores that strangers had, or that a limit withheld
  Nanoseconds stranger_wait_ns = 0;
  double withheld_ns = 0;  // the same, including waits of any length
  double together_ns = 0;  // the part of withheld_ns in which no thread of the target ran
  std::optional<Nanoseconds> idle_ns;  // of the target's cores; nullopt: not known
};
CoreUse operator-(const CoreUse& now, const CoreUse& before);

class SharedCores {
 public:
  // What the time since the update before says of a quota. Threads that were paused leave a part of
  // their quota, so only time without pauses shows that the program does not use it up. Within a
  // window the answer must not change back, because its stops would be counted in a part of it.
  enum class Shows : std::uint8_t { use_of_quota, use_and_disuse_of_quota };

  // `use` covers the time since the update before.
  void update(const CoreUse& use, int cores, const CpuLimits& limits, Shows shows);

  // From now on a quota is taken to be used up, until an update shows otherwise.
  void assume_quota() { shared_ = quota_ = true; }

  // Returns whether strangers, or a quota, keep threads waiting.
  bool shared() const { return shared_; }
  // Returns whether most waits of the program without pauses are for a quota that it uses up in
  // most of its periods.
  bool quota() const { return quota_; }
  // Returns whether pauses may leave CPU time over that a quota would otherwise withhold.
  bool near_quota() const { return near_quota_; }
  // Returns the CPU time a second that the quota grants, as last known; 0: not known.
  double granted() const { return granted_; }
  // Returns whether a pause may use CPU time: a stranger would take a core that the paused thread
  // left, and there is no quota that such pauses would use up.
  bool may_stand_awake() const { return awake_; }

 private:
  bool shared_ = false;
  bool awake_ = false;
  bool quota_ = false;
  bool near_quota_ = false;
  double granted_ = 0;
};

}  // namespace causalctl::causal
