#include "tests/unit/causal/profiles.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "controller/base/error.h"
#include "controller/causal/experiments/plan.h"

namespace causalctl::causal {
namespace {

constexpr Nanoseconds kLength = 500 * kMillisecond;
constexpr Nanoseconds kCoolOff = 10 * kMillisecond;
constexpr double kSamples = 250;      // of the whole program in one experiment
constexpr std::size_t kRecent = 100;  // number of samples among which the plan chooses
constexpr double kStallShare = 0.02;
constexpr std::size_t kFewestForPhases = 100;  // experiments

class Maker {
 public:
  explicit Maker(const ProfileOptions& options) : options_(options), random_(options.seed) {}
  Profile make();

 private:
  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  double log_uniform(double low, double high) {
    return std::exp(uniform(std::log(low), std::log(high)));
  }
  bool one_in(double n) { return uniform(0, n) < 1; }
  double normal() { return std::normal_distribution<double>()(random_); }
  std::uint64_t poisson(double mean) {
    return mean > 0 ? std::poisson_distribution<std::uint64_t>(mean)(random_) : 0;
  }

  TrueCurve draw_curve();
  void draw_units();
  PlanOptions plan_options();
  bool active(const TrueUnit& unit) const { return !unit.phased || in_phase_; }
  double share_now(const TrueUnit& unit) const;
  std::vector<UnitId> recent();
  void add_experiment(const PlannedExperiment& planned);
  void close_run();

  ProfileOptions options_;
  std::mt19937_64 random_;
  Profile profile_;
  double drift_per_root_minute_ = 0;
  double drift_ = 0;
  double period_ns_ = 0;
  Nanoseconds now_ns_ = 0;
  Nanoseconds cycle_ns_ = 0;
  double phase_share_ = 1;
  bool in_phase_ = true;
  double total_s_ = 0, in_phase_s_ = 0;
};

TrueCurve Maker::draw_curve() {
  if (options_.all_null) return {};
  const double kind = uniform(0, 1);
  if (kind < 0.6) return {};
  if (kind < 0.75) return {log_uniform(0.02, 0.5), 1};
  if (kind < 0.93) return {log_uniform(0.05, 0.9), uniform(0.05, 0.6)};
  return {-log_uniform(0.02, 0.3), 1};
}

void Maker::draw_units() {
  const std::size_t count = options_.fixed_unit ? 1 : 5 + random_() % 36;
  profile_.units.resize(count);
  double total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    TrueUnit& unit = profile_.units[i];
    unit.name = "f.c:" + std::to_string(i + 1);
    unit.curve = draw_curve();
    unit.share = std::pow(uniform(0, 1), 2) + 0.01;
    unit.phased = profile_.phased && one_in(2);
    total += unit.share;
  }
  const double program = options_.fixed_unit ? uniform(0.05, 0.8) : 1;
  for (TrueUnit& unit : profile_.units) unit.share *= program / total;
}

PlanOptions Maker::plan_options() {
  PlanOptions plan;
  for (unsigned percent = 0; percent <= 100; percent += 5) plan.speedups_percent.push_back(percent);
  if (options_.fixed_unit && one_in(2)) {
    plan.fixed_speedup_percent = 25 * (1 + static_cast<unsigned>(random_() % 4));
  }
  plan.seed = random_();
  return plan;
}

// While units with phases rest, the other units get all samples.
double Maker::share_now(const TrueUnit& unit) const {
  if (!active(unit)) return 0;
  if (in_phase_) return unit.share;
  double running = 0, total = 0;
  for (const TrueUnit& one : profile_.units) {
    total += one.share;
    if (!one.phased) running += one.share;
  }
  return unit.share * total / running;
}

std::vector<UnitId> Maker::recent() {
  std::vector<double> shares;
  for (const TrueUnit& unit : profile_.units) shares.push_back(share_now(unit));
  std::discrete_distribution<UnitId> pick(shares.begin(), shares.end());
  std::vector<UnitId> all(kRecent);
  for (UnitId& one : all) one = pick(random_);
  return all;
}

void Maker::add_experiment(const PlannedExperiment& planned) {
  const TrueUnit& unit = profile_.units[planned.unit];
  const double effect = active(unit) ? unit.curve.effect(planned.speedup) : 0;
  Experiment e;
  e.unit = {unit.name, true, "", "", 0};
  e.speedup = planned.speedup;
  e.start_ns = now_ns_;
  e.wall_ns = kLength;
  e.delay_ns = static_cast<Nanoseconds>(0.5 * planned.speedup * share_now(unit) * kLength);
  e.asked_ns = e.paid_ns = e.delay_ns;
  e.effective_ns = e.wall_ns - e.delay_ns;

  double noise = profile_.noise *
                 std::sqrt(static_cast<double>(e.wall_ns) / static_cast<double>(e.effective_ns));
  if (options_.heavy_treatments && planned.speedup > 0) noise *= 1.5;
  double period_ns = period_ns_ * (1 - effect) * std::exp(drift_ + noise * normal());
  if (one_in(1 / kStallShare)) period_ns *= uniform(1.2, 4);
  const double first_ns = uniform(0, period_ns);
  const double rest = (static_cast<double>(e.effective_ns) - first_ns) / period_ns;
  const auto visits = static_cast<std::uint64_t>(std::max(0.0, rest + 1));
  const double last_ns = first_ns + period_ns * static_cast<double>(visits > 0 ? visits - 1 : 0);
  e.throughput.push_back(
      {"work", visits, static_cast<Nanoseconds>(first_ns), static_cast<Nanoseconds>(last_ns)});

  for (std::size_t i = 0; i < profile_.units.size(); ++i) {
    const std::uint64_t samples = poisson(kSamples * share_now(profile_.units[i]));
    profile_.run.samples[i].count += samples;
    if (e.speedup == 0) profile_.run.samples[i].baseline_count += samples;
    if (i == planned.unit) e.samples = samples;
  }
  profile_.run.experiments.push_back(std::move(e));
}

void Maker::close_run() {
  Run& run = profile_.run;
  run.id = "r" + std::to_string(options_.seed);
  run.executable = "/bin/program";
  run.ended = true;
  run.reason = EndReason::duration;
  run.digest = DigestResult::same;
  run.wall_ns = now_ns_;
  // Effects are drawn independently of the unit's share, as if there were enough threads for each.
  run.overhead.period_ns = kSecond;
  for (const UnitSamples& samples : run.samples) run.losses.samples_total += samples.count;
  for (TrueUnit& unit : profile_.units) {
    if (unit.phased) unit.active_share = in_phase_s_ / total_s_;
  }
}

Profile Maker::make() {
  profile_.fixed_unit = options_.fixed_unit;
  profile_.experiments = static_cast<std::size_t>(log_uniform(20, 600));
  if (options_.experiments > 0) profile_.experiments = options_.experiments;
  profile_.noise = log_uniform(0.01, 0.05);
  profile_.visits = one_in(3) ? uniform(3, 20) : log_uniform(20, 5000);
  profile_.phased = one_in(4) && profile_.experiments >= kFewestForPhases && !options_.fixed_unit;
  period_ns_ = kLength / profile_.visits;
  drift_per_root_minute_ = uniform(0, 0.05);
  phase_share_ = uniform(0.2, 0.8);
  cycle_ns_ = static_cast<Nanoseconds>(static_cast<double>(profile_.experiments) *
                                       (kLength + kCoolOff) / uniform(4, 10));
  draw_units();
  // Each phase needs at least one unit.
  if (std::all_of(profile_.units.begin(), profile_.units.end(),
                  [](const TrueUnit& unit) { return unit.phased; })) {
    profile_.units[0].phased = false;
  }
  for (const TrueUnit& unit : profile_.units) {
    profile_.run.samples.push_back({{unit.name, true, "", "", 0}, 0, 0});
  }

  Plan plan(plan_options());
  while (profile_.run.experiments.size() < profile_.experiments) {
    in_phase_ = !profile_.phased || static_cast<double>(now_ns_ % cycle_ns_) <
                                        phase_share_ * static_cast<double>(cycle_ns_);
    add_experiment(*plan.next(recent()));
    now_ns_ += kLength + kCoolOff;
    const double step_s = static_cast<double>(kLength + kCoolOff) / kSecond;
    total_s_ += step_s;
    if (in_phase_) in_phase_s_ += step_s;
    drift_ += drift_per_root_minute_ * std::sqrt(step_s / 60) * normal();
  }
  close_run();
  return std::move(profile_);
}

}  // namespace

const TrueUnit& Profile::unit(const std::string& name) const {
  const auto found = std::find_if(units.begin(), units.end(),
                                  [&](const TrueUnit& unit) { return unit.name == name; });
  INVARIANT(found != units.end());
  return *found;
}

Profile synthetic_profile(const ProfileOptions& options) { return Maker(options).make(); }

Run cut_off(const Run& run, std::size_t count) {
  Run cut = run;
  if (count < run.experiments.size()) cut.experiments.resize(count);
  const double share =
      static_cast<double>(cut.experiments.size()) / static_cast<double>(run.experiments.size());
  const auto scaled = [share](std::uint64_t number) {
    return static_cast<std::uint64_t>(share * static_cast<double>(number));
  };
  for (UnitSamples& samples : cut.samples) {
    samples.count = scaled(samples.count);
    samples.baseline_count = scaled(samples.baseline_count);
  }
  cut.losses.samples_total = scaled(cut.losses.samples_total);
  cut.wall_ns = cut.experiments.back().start_ns + cut.experiments.back().wall_ns;
  return cut;
}

}  // namespace causalctl::causal
