#include "controller/causal/experiments/death.h"

#include <algorithm>

namespace causalctl::causal {

Death death_of(const EngineParts& parts, const Engine& engine) {
  constexpr Nanoseconds near_ns = kSecond;
  Death death;
  const auto pause = parts.pauser.last();
  const Nanoseconds ended_ns =
      engine.last_exit_ns() > 0 ? engine.last_exit_ns() : parts.clock.now();
  if (!pause || ended_ns - pause->at_ns > near_ns) return death;
  death.after_pause_ns = std::max<Nanoseconds>(0, ended_ns - pause->at_ns);
  death.paused = pause->tid;
  return death;
}

}  // namespace causalctl::causal
