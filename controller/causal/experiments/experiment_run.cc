#include "controller/causal/experiments/experiment_run.h"

#include "controller/causal/analysis/model_error.h"
#include "controller/causal/analysis/pause_cost.h"
#include "controller/causal/experiments/core_reading.h"

namespace causalctl::causal {
namespace {

constexpr Nanoseconds kLongestPaying = 200 * kMillisecond;
constexpr double kWarmUpShare = 0.2;  // length of the warm-up, as a share of the window's

}  // namespace

std::vector<std::uint64_t> ExperimentRun::run(const PlannedExperiment& planned,
                                              const Overhead& overhead,
                                              Experiment& experiment) const {
  engine.begin_judging();
  const auto pauses_before = parts.pauser.totals();
  const auto lost_before = parts.session.losses().records_lost;
  engine.begin_experiment(planned.unit, planned.speedup, overhead.period_ns);
  warm_up(experiment);
  std::vector<std::uint64_t> counts = run_window(experiment);
  const Nanoseconds unpaid_ns = engine.open_debt_ns();
  engine.end();
  cool_off();
  // The kernel reports a loss with the next record that finds room.
  experiment.lost_records = parts.session.losses().records_lost - lost_before;
  const auto pauses = parts.pauser.totals();
  experiment.asked_ns = pauses.asked_ns - pauses_before.asked_ns + unpaid_ns;
  experiment.paid_ns = pauses.paid_ns - pauses_before.paid_ns;
  experiment.pauses = pauses.pauses - pauses_before.pauses;
  experiment.cost_error_ns = error_of_pauses(experiment, overhead);
  experiment.model_error_ns = model_error_of(experiment);
  experiment.discarded = engine.verdict(experiment.lost_records);
  return counts;
}

// Waits for the steady state, because a faster consumer first empties its queue, and that gain does
// not last. The warm-up is measured in effective time, little of which passes until the queue is
// empty.
void ExperimentRun::warm_up(Experiment& experiment) const {
  const Nanoseconds begin_ns = parts.clock.now();
  const auto effective_ns =
      static_cast<Nanoseconds>(kWarmUpShare * static_cast<double>(duration_ns));
  const auto passed_ns = [&] { return parts.clock.now() - begin_ns; };
  const auto warm = [&] {
    const Nanoseconds stood_ns = engine.delay_ns() + engine.quota_stopped_ns();
    return ends_early(begin_ns) || passed_ns() - stood_ns >= effective_ns;
  };
  engine.run_until(warm, begin_ns + duration_ns);
  experiment.warm_up_ns = passed_ns();
  experiment.warm_up_delay_ns = engine.delay_ns();
}

std::vector<std::uint64_t> ExperimentRun::run_window(Experiment& experiment) const {
  engine.begin_window();
  const CoreReading cores_before = read_cores(engine);
  const std::vector<std::uint64_t> counts_before = parts.attribution.counts();
  const Nanoseconds begin_ns = parts.clock.now();
  experiment.start_ns = begin_ns - start_ns;
  engine.run_until([&] { return ends_early(begin_ns); }, begin_ns + duration_ns);
  engine.stop_earning();
  pay_debts();
  experiment.wall_ns = parts.clock.now() - begin_ns;
  experiment.delay_ns = engine.delay_ns();
  experiment.effective_ns = experiment.wall_ns - experiment.delay_ns - engine.quota_stopped_ns();
  experiment.samples = engine.samples_in_unit();
  experiment.throughput = parts.counters.throughput();
  experiment.latency = parts.counters.latency(experiment.effective_ns);
  fill_in_cores(experiment, cores_before, read_cores(engine));
  std::vector<std::uint64_t> counts = parts.attribution.counts();
  for (UnitId id = 0; id < counts_before.size(); ++id) counts[id] -= counts_before[id];
  return counts;
}

void ExperimentRun::pay_debts() const {
  const auto settled = [&] {
    return engine.open_debt_ns() == 0 || interrupts() > 0 || !parts.session.target_alive();
  };
  engine.run_until(settled, parts.clock.now() + kLongestPaying);
}

// Waits until pauses under way have ended, so that none of them reaches into the next experiment.
void ExperimentRun::cool_off() const {
  const Nanoseconds begin_ns = parts.clock.now();
  engine.step();
  engine.run_until([&] { return interrupts() > 0; }, begin_ns + settings.experiment.cooloff_ns);
  engine.run_until([&] { return parts.pauser.idle() || interrupts() > 0; },
                   begin_ns + settings.pause.longest_ns);
}

}  // namespace causalctl::causal
