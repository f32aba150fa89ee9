#include "controller/causal/experiments/measure_pause_cost.h"

#include "controller/base/statistics.h"
#include "controller/causal/analysis/pause_cost.h"

namespace causalctl::causal {
namespace {

constexpr double kUniformPauseRate = 0.6;

struct Phase {
  std::optional<double> period_ns = 0;  // see visits_period()
  double pauses_per_ns = 0;             // pauses of one thread per virtual time
  double pause_ns = 0;                  // mean length of a pause
};

Phase uniform_pause_phase(const Calibration& with, Nanoseconds longest_ns) {
  const Nanoseconds start_ns = with.parts.clock.now();
  const auto before = with.parts.pauser.totals();
  Phase phase;
  with.engine.begin_uniform_pause(kUniformPauseRate);
  phase.period_ns = visits_period(with, longest_ns);
  const Nanoseconds delay_ns = with.engine.delay_ns();
  const Nanoseconds virtual_ns =
      with.parts.clock.now() - start_ns - delay_ns - with.engine.quota_stopped_ns();
  end_uniform_pause(with);
  const auto after = with.parts.pauser.totals();
  const Nanoseconds paid_ns = after.paid_ns - before.paid_ns;
  const std::uint64_t pauses = after.pauses - before.pauses;
  if (paid_ns > 0 && pauses > 0 && virtual_ns > 0) {
    phase.pause_ns = mean_pause_ns(paid_ns, pauses);
    phase.pauses_per_ns = pauses_for(delay_ns, phase.pause_ns, with.engine.pause_cost_ns()) /
                          static_cast<double>(virtual_ns);
  }
  return phase;
}

}  // namespace

std::optional<PauseCost> measure_pause_cost(const Calibration& with, Nanoseconds budget_ns) {
  double pauses_per_ns = 0;  // this and the next one are sums over the uniform phases
  double pause_ns = 0;
  double uniform_phases = 0;
  bool too_few_visits = false;
  const std::function<bool()> stop = [&] { return too_few_visits || with.stop(); };
  const Pairs pairs = alternate({with.engine, with.parts, stop}, budget_ns, [&](bool uniform) {
    Phase phase;
    if (uniform) {
      phase = uniform_pause_phase(with, budget_ns / 4);
      too_few_visits |= phase.period_ns && phase.pauses_per_ns <= 0;
    } else {
      phase.period_ns = plain_period(with, budget_ns / 6);
    }
    too_few_visits |= phase.period_ns && *phase.period_ns <= 0;
    if (uniform && phase.period_ns && !too_few_visits) {
      pauses_per_ns += phase.pauses_per_ns;
      pause_ns += phase.pause_ns;
      ++uniform_phases;
    }
    return too_few_visits ? std::optional(0.0) : phase.period_ns;
  });
  const auto loss = cost_of_pairs(pairs);
  if (!loss) return std::nullopt;
  // With few pairs the error itself is not known well, so Student's t widens it.
  return pause_cost_of(
      *loss, reach_of(pairs) / statistics::kNormal95, pauses_per_ns / uniform_phases,
      static_cast<Nanoseconds>(pause_ns / uniform_phases), with.engine.pause_cost_ns());
}

}  // namespace causalctl::causal
