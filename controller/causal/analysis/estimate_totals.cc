#include "controller/causal/analysis/estimate_totals.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "controller/causal/analysis/beside_strangers.h"
#include "controller/causal/record/unit_names.h"

namespace causalctl::causal {
namespace {

constexpr double kPhaseErrors = 3;    // a phase factor must be this many standard errors below 1
constexpr double kOneCore = 1.1;      // threads that run in turn want at most this many cores
constexpr double kCeilingErrors = 3;  // standard errors of a count

bool counts(const Experiment& experiment) {
  return experiment.discarded.empty() && !experiment.unit.name.empty();
}

// What strangers may add to the time that code takes besides its CPU time. Threads wait in
// proportion to their CPU time, but not all alike: if together they want more than one core, one of
// them may have had all of the waits.
struct Waits {
  double stretch = 1;
  double share = 0;  // as a share of the time, added to it

  double busy_ns(double cpu_ns, Nanoseconds time_ns) const {
    return cpu_ns * stretch + share * static_cast<double>(time_ns);
  }
};

Waits waits_of(const Run& run) {
  CoreTotals totals;
  double wall = 0;
  for (const Experiment& experiment : run.experiments) {
    totals += experiment.cores;
    wall += static_cast<double>(experiment.wall_ns);
  }
  const CoresShared shared = classify(totals);
  if (!shared.matters || wall <= 0) return {};
  const auto waited = static_cast<double>(totals.stranger_wait_ns);
  const bool one_core = static_cast<double>(totals.cpu_ns) + waited <= kOneCore * wall;
  return one_core ? Waits{shared.stretch, 0} : Waits{1, waited / wall};
}

// A log that is cut off has neither the run's length nor its samples, so that nothing is known of
// the units' presence in it.
void add_presence(const Run& run, Totals& totals) {
  const Waits waits = waits_of(run);
  Nanoseconds baselines_ns = 0;
  std::set<std::string> tried;
  struct Own {
    std::uint64_t samples = 0;
    Nanoseconds time_ns = 0;
  };
  std::map<std::string, Own> own;  // each unit's own baselines, by the unit's name
  for (const Experiment& experiment : run.experiments) {
    if (!counts(experiment)) continue;
    tried.insert(experiment.unit.name);
    if (experiment.speedup > 0) continue;
    baselines_ns += experiment.effective_ns;
    own[experiment.unit.name].samples += experiment.samples;
    own[experiment.unit.name].time_ns += experiment.effective_ns;
  }
  const bool time_is_known = static_cast<double>(run.losses.throttles) <=
                             kManyThrottles * static_cast<double>(samples_of(run));
  for (const UnitSamples& samples : run.samples) {
    UnitTotals& unit = totals.units[samples.unit.name];
    learn(unit.unit, samples.unit);
    unit.samples += samples.count;
    unit.inherited += samples.inherited;
    unit.by_one_call += samples.by_one_call;
    unit.in_own_code += samples.in_own_code;
    unit.in_callee += samples.in_callee;
    unit.unknown_callers += samples.unknown_callers;
    const auto in_baselines = static_cast<double>(samples.baseline_count);
    const double cpu_ns = in_baselines * static_cast<double>(run.overhead.period_ns);
    const Presence here = {waits.busy_ns(cpu_ns, baselines_ns), baselines_ns,
                           samples.baseline_count};
    if (time_is_known) unit.anywhere += here;
    if (time_is_known && tried.contains(samples.unit.name)) unit.where_tried += here;
    const auto mine = own.find(samples.unit.name);
    if (mine == own.end() || samples.baseline_count == 0 || baselines_ns <= 0) continue;
    const double part =
        static_cast<double>(mine->second.time_ns) / static_cast<double>(baselines_ns);
    unit.observed += mine->second.samples;
    unit.expected += part * in_baselines;
    unit.expected_variance += part * part * in_baselines;
  }
}

}  // namespace

Presence& Presence::operator+=(const Presence& other) {
  busy_ns += other.busy_ns;
  time_ns += other.time_ns;
  samples += other.samples;
  return *this;
}

void add(const Experiment& experiment, report::Tested& tested) {
  if (experiment.speedup == 0) return;
  ++tested.experiments;
  if (experiment.samples > 0) ++tested.sampled;
  if (experiment.pauses > 0) ++tested.paused;
  tested.samples += experiment.samples;
}

std::uint64_t samples_of(const Run& run) {
  std::uint64_t attributed = 0;
  for (const UnitSamples& samples : run.samples) attributed += samples.count;
  return std::max(run.losses.samples_total, attributed);
}

Totals add_up(const std::vector<const Run*>& runs) {
  Totals totals;
  for (const Run* run : runs) {
    totals.samples_total += samples_of(*run);
    std::set<std::string> treated;
    for (const Experiment& experiment : run->experiments) {
      if (!counts(experiment)) continue;
      UnitTotals& unit = totals.units[experiment.unit.name];
      learn(unit.unit, experiment.unit);
      unit.samples_in_all += experiment.samples;
      if (experiment.speedup > 0) treated.insert(experiment.unit.name);
      add(experiment, unit.tested);
    }
    for (const std::string& name : treated) ++totals.units[name].runs;
    if (run->ended) add_presence(*run, totals);
  }
  return totals;
}

// For one run, (t_obs / s_obs) · (s / T) is expected / observed. All four come from baselines,
// because a treatment changes how many samples per effective time fall in a unit, which would look
// like a phase. Samples are counts, so the factor's relative variance for one run is 1/s_obs + 1/s.
// A unit cannot be active for longer than the program ran. A factor that may well be 1 is set to 1,
// because cutting off only what exceeds 1 would make every effect too small.
Factor phase_factor(const UnitTotals& unit) {
  if (unit.observed == 0 || unit.expected <= 0) return {};
  const double observed = static_cast<double>(unit.observed);
  const double factor = unit.expected / observed;
  const double relative_error =
      std::sqrt(1 / observed + unit.expected_variance / (unit.expected * unit.expected));
  if (std::log(factor) > -kPhaseErrors * relative_error) return {};
  return {factor, relative_error};
}

double ceiling_of(const UnitTotals& unit) {
  const Presence& presence = unit.where_tried.time_ns > 0 ? unit.where_tried : unit.anywhere;
  if (presence.samples == 0 || presence.busy_ns <= 0 || presence.time_ns <= 0) return 1;
  const double threads = presence.busy_ns / static_cast<double>(presence.time_ns);
  const double error = kCeilingErrors / std::sqrt(static_cast<double>(presence.samples));
  return std::min(1.0, threads * (1 + error));
}

}  // namespace causalctl::causal
