#include "controller/causal/experiments/measure_pacing.h"

#include <algorithm>
#include <utility>

namespace causalctl::causal {
namespace {

constexpr double kOfWaiting = 0.7;
constexpr double kGentlest = 0.05;  // a smaller part is lost in the noise of the rates
constexpr double kLeastGentle = 0.2;
constexpr double kFewIdle = 0.1;
constexpr double kMuchStalled = 0.05;
constexpr Nanoseconds kPacePhase = 300 * kMillisecond;
// The start of a phase, which does not count. More requests wait for the target in a uniform pause
// than without it, and the difference must not count as lost, or as gained in the next phase.
constexpr Nanoseconds kPaceWarmUp = 100 * kMillisecond;
// The test may take this many times its budget while the result is unknown.
constexpr Nanoseconds kLongestPaceTest = 3;
// All threads together, and each visitor on average, must have paid this part of the delay.
// Otherwise the uniform pause has not paused the target.
constexpr double kPaidAtLeast = 0.8;

struct PacePhase {
  std::vector<double> rates;  // visits a second, for each throughput point
  double paused_share = 0;
  double waited = 0;  // see PacePair
  bool valid = true;
};

PacePhase pace_phase(const Calibration& with, double pause_rate) {
  Engine& engine = with.engine;
  const EngineParts& parts = with.parts;
  const auto pass = [&](Nanoseconds duration_ns) {
    engine.run_until(with.stop, parts.clock.now() + duration_ns);
  };
  const bool uniform = pause_rate > 0;
  uniform ? engine.begin_uniform_pause(pause_rate, mode::UniformPause::Timing::prompt)
          : engine.begin_counting();
  pass(kPaceWarmUp);
  engine.begin_window();
  const PhaseJudge judge(with);
  const Nanoseconds start_ns = parts.clock.now();
  const Nanoseconds paid_before_ns = parts.pauser.totals().paid_ns;
  const Nanoseconds debt_before_ns = engine.ledger().mean_debt_ns();
  const Nanoseconds waited_before_ns = engine.ledger().mean_wait_ns();
  pass(kPacePhase);
  const auto wall_ns = static_cast<double>(parts.clock.now() - start_ns);
  PacePhase phase;
  phase.waited = static_cast<double>(engine.ledger().mean_wait_ns() - waited_before_ns) / wall_ns;
  for (const ThroughputCount& count : parts.counters.throughput()) {
    phase.rates.push_back(1e9 * static_cast<double>(count.visits) / wall_ns);
  }
  phase.valid = judge.says_something();
  if (!uniform) return phase;
  const auto delay_ns = static_cast<double>(engine.delay_ns());
  const auto paid_each_ns =
      delay_ns - static_cast<double>(engine.ledger().mean_debt_ns() - debt_before_ns);
  phase.paused_share = paid_each_ns / wall_ns;
  end_uniform_pause(with);
  const auto paid_ns = static_cast<double>(parts.pauser.totals().paid_ns - paid_before_ns);
  phase.valid = phase.valid && std::min(paid_ns, paid_each_ns) > kPaidAtLeast * delay_ns;
  return phase;
}

bool none_unknown(const std::vector<Pacing>& all) {
  return std::none_of(all.begin(), all.end(),
                      [](const Pacing& pacing) { return pace_of(pacing) == Pace::unknown; });
}

}  // namespace

double gentle_rate(double waiting_share, double most) {
  return std::min(std::clamp(kOfWaiting * waiting_share, kGentlest, kLeastGentle), most);
}

std::optional<PaceTest> gentle_test(const Spare& spare, double most) {
  if (!spare.cores_short) return PaceTest{gentle_rate(spare.waiting, most), false};
  const double idle = spare.idle.value_or(0);
  if (idle < kFewIdle || spare.stalled > kMuchStalled) return std::nullopt;
  return PaceTest{gentle_rate(std::min(spare.waiting, idle), most), true};
}

std::vector<Pacing> measure_pacing(const Calibration& with, const PaceTest& test,
                                   Nanoseconds budget_ns) {
  const EngineParts& parts = with.parts;
  const auto points = parts.counters.throughput();
  std::vector<std::vector<PacePair>> pairs(points.size());
  const auto pacing = [&] {
    std::vector<Pacing> all;
    for (std::size_t i = 0; i < points.size(); ++i) {
      auto one = pacing_of(points[i].name, pairs[i], test.cores_short);
      if (one) all.push_back(std::move(*one));
    }
    return all;
  };
  const Nanoseconds begin_ns = parts.clock.now();
  for (bool uniform_first = false; !with.stop(); uniform_first = !uniform_first) {
    const Nanoseconds passed_ns = parts.clock.now() - begin_ns;
    if (passed_ns > kLongestPaceTest * budget_ns) break;
    // A point that is never visited tells nothing. Too few pairs come from a short run, or from a
    // machine that stalls.
    const bool some = !pairs.empty() && pairs.front().size() >= kFewestPairs;
    if (passed_ns > budget_ns && some && none_unknown(pacing())) break;
    PacePhase phases[2];  // without and with the uniform pause
    for (const bool uniform : {uniform_first, !uniform_first}) {
      phases[uniform ? 1 : 0] = pace_phase(with, uniform ? test.pause_rate : 0);
    }
    if (with.stop()) break;
    if (!phases[0].valid || !phases[1].valid) continue;
    for (std::size_t i = 0; i < points.size(); ++i) {
      pairs[i].push_back({phases[0].rates[i], phases[1].rates[i], phases[1].paused_share,
                          phases[0].waited, phases[1].waited});
    }
  }
  return pacing();
}

}  // namespace causalctl::causal
