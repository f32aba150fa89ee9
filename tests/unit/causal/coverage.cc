#include "tests/unit/causal/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "controller/causal/analysis/estimate.h"

namespace causalctl::causal {
namespace {

using report::Verdict;

constexpr double kClear = 0.05;            // an effect that should be found
constexpr std::size_t kEnoughToFind = 10;  // treatments

bool covers(const Interval& interval, double truth) {
  constexpr double kRounding = 1e-9;
  return interval.low - kRounding <= truth && truth <= interval.high + kRounding;
}

std::vector<double> speedups_tried(const Run& run, const TrueUnit& unit, double low, double high) {
  std::vector<double> all;
  for (const Experiment& e : run.experiments) {
    if (e.unit.name == unit.name && e.speedup > 0 && e.speedup >= low && e.speedup < high) {
      all.push_back(e.speedup);
    }
  }
  return all;
}

// A pool's effect is 1 less the geometric mean of the periods.
double true_pool(const Run& run, const TrueUnit& unit, double speedup) {
  const double low = speedup < 0.375 ? 0 : speedup < 0.725 ? 0.375 : 0.725;
  const double high = speedup < 0.375 ? 0.375 : speedup < 0.725 ? 0.725 : 1.001;
  const std::vector<double> all = speedups_tried(run, unit, low, high);
  double sum = 0;
  for (const double one : all) sum += std::log(1 - unit.curve.effect(one));
  return unit.active_share * (1 - std::exp(sum / static_cast<double>(all.size())));
}

// Returns the X of "no effect larger than X %", as a fraction.
std::optional<double> bound_said(const report::Report& report) {
  const std::string words = "no effect larger than ";
  for (const std::string& warning : texts_of(report.warnings)) {
    const std::size_t at = warning.find(words);
    if (at != std::string::npos) return std::stod(warning.substr(at + words.size())) / 100;
  }
  return std::nullopt;
}

const char* kind_of(const TrueCurve& curve) {
  if (curve.slope == 0) return "null";
  if (curve.slope < 0) return "negative";
  return curve.knee < 1 ? "saturating" : "linear";
}

}  // namespace

// Returns what least squares through the origin find without noise.
double true_slope(const Run& run, const TrueUnit& unit) {
  double products = 0, squares = 0;
  for (const double speedup : speedups_tried(run, unit, 0, 2)) {
    products += speedup * unit.curve.effect(speedup);
    squares += speedup * speedup;
  }
  return unit.active_share * products / squares;
}

Rate binomial_bounds(std::size_t total, double chance) {
  // Sums P(X <= k) term by term.
  const double n = static_cast<double>(total);
  double term = std::exp(n * std::log1p(-chance));
  double sum = 0;
  Rate bounds{0, total};
  bool low_found = false;
  for (std::size_t k = 0; k <= total; ++k) {
    sum += term;
    if (!low_found && sum > 0.0005) {
      bounds.hits = k;
      low_found = true;
    }
    if (sum > 0.9995) {
      bounds.total = k;
      break;
    }
    term *= (n - static_cast<double>(k)) / static_cast<double>(k + 1) * chance / (1 - chance);
  }
  return bounds;
}

void Coverage::add(const Profile& profile, const report::Report& report) {
  const Run& run = profile.run;
  bool alarm = false, wrong = false;
  double largest = 0;
  for (const report::UnitResult& unit : report.progress.at(0).units) {
    if (!unit.slope) continue;
    const TrueUnit& truth = profile.unit(unit.unit);
    const double slope_truth = true_slope(run, truth);
    const bool covered = covers(*unit.slope, slope_truth);
    slope.count(covered);
    width_sum += unit.slope->high - unit.slope->low;
    if (unit.sample_share >= 0.05) slope_by["at least 5 % of the samples"].count(covered);
    if (unit.best) best.count(covers(unit.best->effect, true_pool(run, truth, unit.best->speedup)));
    largest = std::max(largest, truth.active_share * truth.curve.largest());
    std::size_t treatments = 0;
    for (const report::CurvePoint& at : unit.curve) {
      treatments += at.experiments;
      curve.count(covers(at.effect, truth.active_share * truth.curve.effect(at.speedup)));
    }
    for (const report::CurvePoint& at : unit.summary) {
      summary.count(covers(at.effect, true_pool(run, truth, at.speedup)));
    }
    slope_by[kind_of(truth.curve)].count(covered);
    slope_by[treatments < 6    ? "3 to 5 treatments"
             : treatments < 20 ? "6 to 19"
                               : "20 and more"]
        .count(covered);
    slope_by[profile.fixed_unit ? "fixed unit" : "random plan"].count(covered);
    slope_by[profile.visits < 20 ? "few visits" : "many visits"].count(covered);
    slope_by[truth.phased ? "active in a phase" : "always active"].count(covered);
    slope_by[profile.noise < 0.02 ? "noise below 2 %" : "noise 2 to 5 %"].count(covered);
    const bool faster = unit.verdict == Verdict::optimise;
    const bool slower = unit.verdict == Verdict::contention;
    if (truth.curve.slope == 0 && (faster || slower)) alarm = true;
    if ((truth.curve.slope > 0 && slower) || (truth.curve.slope < 0 && faster)) wrong = true;
    const double effect = truth.active_share * truth.curve.largest();
    if (std::abs(effect) >= kClear && treatments >= kEnoughToFind) {
      found.count(effect > 0 ? faster : slower);
    }
    if (unit.verdict == Verdict::no_effect) none.count(std::abs(effect) <= kNoEffect);
  }
  false_alarm.count(alarm);
  wrong_sign.count(wrong);
  if (report.selfcheck.null_effect) null_effect.count(covers(*report.selfcheck.null_effect, 0));
  if (const auto said = bound_said(report)) bound.count(largest <= *said);
}

std::string Coverage::table() const {
  const auto row = [](const std::string& name, const Rate& rate) {
    return fmt::format("| {} | {:.1f} % | {} |\n", name, 100 * rate.share(), rate.total);
  };
  std::string text = "| | share | of |\n|---|---|---|\n";
  text += row("slope's interval covers the truth", slope);
  for (const auto& [name, rate] : slope_by) text += row("… " + name, rate);
  text += row("curve point's interval", curve);
  text += row("pool's interval", summary);
  text += row("the best pool's simultaneous interval", best);
  text += row("null effect's interval", null_effect);
  text += row("profiles with a null unit called effective", false_alarm);
  text += row("profiles with a verdict of the wrong sign", wrong_sign);
  text += row("\"no effect larger than X %\" is true", bound);
  text += row("units called without effect: at most 5 %", none);
  text += row("units of 5 % or more, 10 treatments: called so", found);
  text += fmt::format("mean width of slope intervals: {:.4f}\n", mean_slope_width());
  return text;
}

}  // namespace causalctl::causal
