#include "tests/sim/simulate.h"

#include <cmath>
#include <memory>

#include "config/config.h"
#include "controller/base/error.h"
#include "controller/causal/analysis/estimate.h"
#include "controller/causal/engine/attribution.h"
#include "controller/causal/experiments/experiment_loop.h"
#include "controller/progress/counters.h"
#include "tests/sim/sim_pauser.h"

namespace causalctl::sim {
namespace {

constexpr Nanoseconds kWarmUp = kSecond;

double visit_period_ns(const Question& question, double speedup) {
  MachineOptions options = question.machine;
  options.fast_line = question.unit;
  options.speedup = speedup;
  Machine machine(options);
  const auto program = question.program(machine);
  machine.run_until(kWarmUp);
  machine.forget_visits();
  machine.run_until(kWarmUp + question.duration_ns);
  const Visits visits = machine.visits(kProgressTag);
  INVARIANT(visits.count > 1);
  return static_cast<double>(visits.last_ns - visits.first_ns) /
         static_cast<double>(visits.count - 1);
}

config::Config config_of(const Question& question, const Controller& controller) {
  config::Config config;
  config.experiment.fixed_unit = name_of(question.unit);
  config.experiment.fixed_speedup_percent =
      static_cast<unsigned>(std::lround(100 * question.speedup));
  config.experiment.duration_ns = controller.experiment_ns;
  config.sampling.period_ns = controller.period_ns;
  config.pause.threshold_ns = controller.pause_threshold_ns;
  config.budget.duration_ns = question.duration_ns;
  return config;
}

std::optional<Interval> effect_in(const report::Report& report, const Question& question) {
  if (report.progress.empty()) return std::nullopt;
  for (const report::UnitResult& unit : report.progress.front().units) {
    if (unit.unit != name_of(question.unit)) continue;
    for (const report::CurvePoint& at : unit.curve) {
      if (std::abs(at.speedup - question.speedup) < 0.001) return at.effect;
    }
  }
  return std::nullopt;
}

}  // namespace

double true_effect(const Question& question) {
  return 1 - visit_period_ns(question, question.speedup) / visit_period_ns(question, 0);
}

Prediction predict(const Question& question, const Controller& controller) {
  const config::Config config = config_of(question, controller);
  Machine machine(question.machine);
  const auto program = question.program(machine);
  machine.run_until(kWarmUp);

  SimClock clock(machine, controller.latency, controller.tick_cost_ns, question.machine.seed + 1);
  SimSource source(machine);
  pause::PauserOptions pausing;
  pausing.longest_ns = config.pause.longest_ns;
  pausing.pause_cost_ns = controller.credited_cost_ns;
  SimPauser pauser(machine, pausing, controller.arming_ns, controller.pauses_arrive);
  causal::Attribution attribution(std::make_unique<LineTable>(), nullptr);
  progress::Counters counters({{"done", progress::CountedPoint::Kind::throughput}});
  const auto read = [&machine](Address address, std::span<std::byte> bytes) {
    return read_code(machine, address, bytes);
  };
  const progress::Armory armory{{}, {}, {controller.visit_cost_ns}};
  const causal::EngineParts parts{.clock = clock,
                                  .session = source,
                                  .pauser = pauser,
                                  .attribution = attribution,
                                  .counters = counters,
                                  .sampled_points = {},
                                  .shot_cost_ns = controller.credited_cost_ns,
                                  .cores = static_cast<int>(question.machine.cores),
                                  .idle_ns = [&machine] { return machine.idle_ns(); },
                                  .armory = armory,
                                  .read_target = read,
                                  .cpu_limits = [&machine] { return machine.poll_quota(); }};

  Prediction result;
  result.run.id = "simulated";
  result.run.seed = question.machine.seed;
  causal::LogWriter log("/dev/null");
  const causal::RunHooks hooks{.show = [](const causal::Status&) {},
                               .interrupts = [] { return 0; },
                               .first_thread_ended = {},
                               .followed = [&] { result.let_go.push_back(machine.watched()); }};
  causal::run_experiments(causal::settings_of(config), parts, hooks, log, result.run);
  result.run.ended = true;
  // This asks whether pauses are counted right and whether the model is right, so the errors that
  // stand for not knowing them are removed.
  for (causal::Experiment& each : result.run.experiments) {
    if (controller.whole_interval) break;
    each.cost_error_ns = each.model_error_ns = 0;
  }
  result.report = causal::estimate({result.run});
  result.effect = effect_in(result.report, question);
  return result;
}

}  // namespace causalctl::sim
