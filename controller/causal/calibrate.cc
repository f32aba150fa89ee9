#include "controller/causal/calibrate.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "controller/base/statistics.h"

namespace causalctl::causal {
namespace {

using Pairs = std::vector<std::pair<double, double>>;  // off, on

constexpr Nanoseconds kShortest = kMillisecond;
constexpr Nanoseconds kLongest = 10 * kMillisecond;
constexpr Nanoseconds kUnmeasured = 4 * kMillisecond;
constexpr Nanoseconds kPhase = 150 * kMillisecond;
constexpr std::uint64_t kPhaseVisits = 6;
constexpr double kShamRate = 0.6;
constexpr Nanoseconds kDearestPause = 2 * kMillisecond;
// A shot at a thread of our own sees a part of the cost, but not as little as this part.
constexpr int kMostUnseen = 6;
// Of the cost, for its dependence on the length of a pause: in experiments pauses are up to 25
// times as long as in the calibration (docs/virtual-time.md, "What a pause costs").
constexpr double kLengthError = 0.5;
constexpr Nanoseconds kUnknownCost = 100 * kMicrosecond;
constexpr std::size_t kMaxPairs = 12;
constexpr std::size_t kMinPairs = 3;

// The progress period over one phase, by the point with the most visits; 0: fewer than two visits.
double visits_period(Stream& stream, const StreamParts& parts, Nanoseconds longest_ns,
                     const std::function<bool()>& stop) {
  const Nanoseconds start_ns = parts.clock.now();
  ThroughputCount best;
  while (!stop()) {
    stream.step();
    best = {};
    for (auto& count : parts.counters.throughput()) {
      if (count.visits > best.visits) best = std::move(count);
    }
    const Nanoseconds passed_ns = parts.clock.now() - start_ns;
    if (passed_ns >= longest_ns || (passed_ns >= kPhase && best.visits >= kPhaseVisits)) break;
  }
  if (best.visits < 2) return 0;
  return static_cast<double>(best.last_ns - best.first_ns) / static_cast<double>(best.visits - 1);
}

double phase_period(Stream& stream, const StreamParts& parts, Nanoseconds longest_ns,
                    const std::function<bool()>& stop) {
  stream.begin_counting();
  return visits_period(stream, parts, longest_ns, stop);
}

// With which it pays the delay, their costs included.
double pauses_of_a_thread(Nanoseconds delay_ns, Nanoseconds paid_ns, std::uint64_t pauses,
                          Nanoseconds cost_ns) {
  if (pauses == 0) return 0;
  const double pause_ns =
      static_cast<double>(paid_ns) / static_cast<double>(pauses) + static_cast<double>(cost_ns);
  return pause_ns > 0 ? static_cast<double>(delay_ns) / pause_ns : 0;
}

struct Phase {
  double period_ns = 0;
  double pauses_per_ns = 0;  // of one thread, by its virtual time
};

Phase sham_phase(Stream& stream, const StreamParts& parts, Nanoseconds longest_ns,
                 const std::function<bool()>& stop) {
  const Nanoseconds start_ns = parts.clock.now();
  const auto before = parts.pauser.totals();
  Phase phase;
  stream.begin_sham(kShamRate);
  phase.period_ns = visits_period(stream, parts, longest_ns, stop);
  const Nanoseconds delay_ns = stream.delay_ns();
  const Nanoseconds virtual_ns = parts.clock.now() - start_ns - delay_ns;
  stream.end();
  const Nanoseconds patience_ns = parts.clock.now() + kSecond;
  do {
    stream.step();
  } while (!parts.pauser.idle() && parts.clock.now() < patience_ns);
  const auto after = parts.pauser.totals();
  const Nanoseconds paid_ns = after.paid_ns - before.paid_ns;
  if (paid_ns > 0 && virtual_ns > 0) {
    phase.pauses_per_ns = pauses_of_a_thread(delay_ns, paid_ns, after.pauses - before.pauses,
                                             stream.pause_cost_ns()) /
                          static_cast<double>(virtual_ns);
  }
  return phase;
}

// Periods of phases without and with something, in turn, the order changing from pair to pair, so
// that a drift does not look like a cost. `period(on)` runs one; 0: too few visits. The budget
// is overdrawn, up to twice, where the machine's stalls, or few visits, have left it with fewer
// pairs than say anything.
Pairs alternate(const StreamParts& parts, Nanoseconds budget_ns, const std::function<bool()>& stop,
                const std::function<double(bool)>& period) {
  const Nanoseconds deadline_ns = parts.clock.now() + budget_ns;
  Pairs pairs;
  bool off_first = true;
  const auto overdraft_ns = [&] {
    return !pairs.empty() && pairs.size() < kMinPairs ? budget_ns : 0;
  };
  while (pairs.size() < kMaxPairs && parts.clock.now() < deadline_ns + overdraft_ns() && !stop()) {
    std::pair<double, double> pair;
    for (const bool on : {!off_first, off_first}) (on ? pair.second : pair.first) = period(on);
    off_first = !off_first;
    if (pair.first > 0 && pair.second > 0) pairs.push_back(pair);
  }
  return pairs;
}

std::vector<double> log_ratios(const Pairs& pairs) {
  std::vector<double> logs;
  for (const auto& [off, on] : pairs) logs.push_back(std::log(on / off));
  return logs;
}

// Of the mean of log(on/off): half of its 95 % interval, by Student's t.
double reach_of(const Pairs& pairs) {
  return statistics::student_t_quantile(0.025, pairs.size() - 1) *
         statistics::standard_error(log_ratios(pairs));
}

SamplingCost measure(Stream& stream, const StreamParts& parts, Nanoseconds period_ns,
                     Nanoseconds budget_ns, const std::function<bool()>& stop) {
  parts.session.set_period(period_ns);
  const Pairs pairs = alternate(parts, budget_ns, stop, [&](bool on) {
    parts.session.enable_sampling(on);
    return phase_period(stream, parts, budget_ns / 6, stop);
  });
  parts.session.enable_sampling(true);
  SamplingCost cost{period_ns, cost_of_pairs(pairs)};
  if (!cost.cost) return cost;
  const double reach = reach_of(pairs);
  cost.low = (1 + *cost.cost) * std::exp(-reach) - 1;
  cost.high = (1 + *cost.cost) * std::exp(reach) - 1;
  return cost;
}

}  // namespace

std::optional<double> cost_of_pairs(const std::vector<std::pair<double, double>>& off_on_periods) {
  if (off_on_periods.size() < kMinPairs) return std::nullopt;
  std::vector<double> logs = log_ratios(off_on_periods);
  std::sort(logs.begin(), logs.end());
  const std::size_t trim = logs.size() / 4;
  double sum = 0;
  for (std::size_t i = trim; i < logs.size() - trim; ++i) sum += logs[i];
  return std::exp(sum / static_cast<double>(logs.size() - 2 * trim)) - 1;
}

Nanoseconds affordable_period(Nanoseconds measured_ns, double cost, double affordable) {
  const double factor = std::max(cost / affordable, 1.0);
  const double period_ns = static_cast<double>(measured_ns) * factor;
  return std::clamp(static_cast<Nanoseconds>(period_ns), kShortest, kLongest);
}

SamplingCost choose_period(Stream& stream, const StreamParts& parts, double affordable,
                           Nanoseconds budget_ns, const std::function<bool()>& stop) {
  const SamplingCost shortest = measure(stream, parts, kShortest, budget_ns / 2, stop);
  if (!shortest.cost) {
    parts.session.set_period(kUnmeasured);
    return {kUnmeasured, std::nullopt};
  }
  const Nanoseconds period_ns = affordable_period(kShortest, *shortest.cost, affordable);
  if (period_ns == kShortest) return shortest;
  return measure(stream, parts, period_ns, budget_ns / 2, stop);
}

PauseCost guessed_pause_cost(Nanoseconds shot_cost_ns) {
  return {shot_cost_ns, shot_cost_ns > 0 ? shot_cost_ns : kUnknownCost};
}

PauseCost given_pause_cost(Nanoseconds cost_ns) {
  return {cost_ns, static_cast<Nanoseconds>(kLengthError * static_cast<double>(cost_ns))};
}

Nanoseconds error_of_pauses(const Experiment& experiment, const Overhead& overhead) {
  const double pauses = std::min(pauses_of_a_thread(experiment.delay_ns, experiment.paid_ns,
                                                    experiment.pauses, overhead.pause_cost_ns),
                                 static_cast<double>(experiment.pauses));
  return static_cast<Nanoseconds>(pauses * static_cast<double>(overhead.pause_cost_error_ns));
}

// N pauses of cost c in virtual time V leave V - N c for work, and V / (V - N c) = 1 + loss.
PauseCost pause_cost_of(double loss, double loss_error, double pauses_per_ns,
                        Nanoseconds counted_ns) {
  const auto counted = static_cast<double>(counted_ns);
  const double unseen_ns = loss / (1 + loss) / pauses_per_ns;
  const double most_ns =
      counted_ns > 0 ? kMostUnseen * counted : static_cast<double>(kDearestPause);
  const double cost_ns = std::clamp(counted + unseen_ns, counted, most_ns);
  const double error_ns = loss_error / (1 + loss) / pauses_per_ns;
  const double cut_off_ns = counted + unseen_ns - cost_ns;
  return {static_cast<Nanoseconds>(cost_ns),
          static_cast<Nanoseconds>(
              std::hypot(error_ns, std::hypot(kLengthError * cost_ns, cut_off_ns)))};
}

std::optional<PauseCost> measure_pause_cost(Stream& stream, const StreamParts& parts,
                                            Nanoseconds budget_ns,
                                            const std::function<bool()>& stop) {
  double pauses_per_ns = 0;  // summed over the sham phases
  double shams = 0;
  bool too_few_visits = false;
  const Pairs pairs = alternate(
      parts, budget_ns, [&] { return too_few_visits || stop(); },
      [&](bool sham) {
        Phase phase;
        if (sham) {
          phase = sham_phase(stream, parts, budget_ns / 4, stop);
          too_few_visits |= phase.pauses_per_ns <= 0;
        } else {
          phase.period_ns = phase_period(stream, parts, budget_ns / 6, stop);
        }
        too_few_visits |= phase.period_ns <= 0;
        if (sham && !too_few_visits) {
          pauses_per_ns += phase.pauses_per_ns;
          ++shams;
        }
        return too_few_visits ? 0 : phase.period_ns;
      });
  const auto loss = cost_of_pairs(pairs);
  if (!loss) return std::nullopt;
  // The error of few pairs is not known well itself: as far as its Student's t goes.
  return pause_cost_of(*loss, reach_of(pairs) / statistics::kNormal95, pauses_per_ns / shams,
                       stream.pause_cost_ns());
}

}  // namespace causalctl::causal
