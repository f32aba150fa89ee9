#include "controller/compare/sequential.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "controller/base/error.h"
#include "controller/base/statistics.h"

namespace causalctl::compare {
namespace {

// Values of λ in units of 1 / scale. Small ones find small effects in many blocks, large ones find
// large effects in few. Each is also used with the other sign.
constexpr double kBets[] = {0.25, 0.5, 1, 2, 4};
constexpr int kBisections = 40;
constexpr int kDoublings = 60;

// Returns the median of |values| up to and including each. Such a scale depends on no later sign,
// so the bets may depend on it.
std::vector<double> running_scales(std::span<const double> values) {
  std::vector<double> sorted, scales;
  for (const double value : values) {
    const double size = std::abs(value);
    sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), size), size);
    scales.push_back(sorted[sorted.size() / 2]);
  }
  return scales;
}

// Returns the logarithm of 2 / (1 + exp(-2 bet)) without overflow.
double log_factor(double bet) {
  const double x = -2 * bet;
  return std::log(2.0) - (x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)));
}

double log_of_sum(std::span<const double> logs) {
  const double largest = *std::max_element(logs.begin(), logs.end());
  double sum = 0;
  for (const double each : logs) sum += std::exp(each - largest);
  return largest + std::log(sum);
}

double evidence_against(std::span<const double> log_ratios, double centre) {
  std::vector<double> shifted(log_ratios.begin(), log_ratios.end());
  for (double& value : shifted) value -= centre;
  return log_evidence(shifted);
}

bool refuted(std::span<const double> log_ratios, double centre, double limit) {
  return evidence_against(log_ratios, centre) >= limit;
}

// Returns where refutation begins on the way from `inside`, in steps of growing size.
double edge(std::span<const double> log_ratios, double inside, double step, double limit) {
  double outside = inside + step;
  int doublings = 0;
  while (!refuted(log_ratios, outside, limit)) {
    if (++doublings > kDoublings) {
      return step > 0 ? std::numeric_limits<double>::infinity()
                      : -std::numeric_limits<double>::infinity();
    }
    inside = outside;
    step *= 2;
    outside = inside + step;
  }
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (inside + outside) / 2;
    (refuted(log_ratios, middle, limit) ? outside : inside) = middle;
  }
  return outside;
}

// Returns the value that the data refute least, from which the search for the interval begins. The
// median itself may be refuted, if values lie on one side of it more often or farther away than on
// the other.
double least_refuted(std::span<const double> log_ratios) {
  constexpr int kCandidates = 64;
  const auto [least, most] = std::minmax_element(log_ratios.begin(), log_ratios.end());
  double best = statistics::median(log_ratios);
  double least_evidence = evidence_against(log_ratios, best);
  for (int i = 0; i <= kCandidates; ++i) {
    const double candidate = *least + (*most - *least) * i / kCandidates;
    const double evidence = evidence_against(log_ratios, candidate);
    if (evidence < least_evidence) {
      least_evidence = evidence;
      best = candidate;
    }
  }
  return best;
}

}  // namespace

double log_evidence(std::span<const double> values) {
  if (values.empty()) return 0;
  const std::vector<double> scales = running_scales(values);
  std::vector<double> logs;
  for (const double bet : kBets) {
    double up = 0, down = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (scales[i] == 0) continue;  // all are zero so far: there are no signs to bet on
      up += log_factor(bet * values[i] / scales[i]);
      down += log_factor(-bet * values[i] / scales[i]);
    }
    logs.push_back(up);
    logs.push_back(down);
  }
  return log_of_sum(logs) - std::log(static_cast<double>(logs.size()));
}

Interval confidence_sequence(std::span<const double> log_ratios, double alpha) {
  INVARIANT(!log_ratios.empty() && alpha > 0 && alpha < 1);
  const double value_of_all = centre_of(log_ratios).value;
  const double limit = -std::log(alpha);
  const double middle = least_refuted(log_ratios);
  // If no effect makes the values symmetric, the rule says nothing about them.
  if (refuted(log_ratios, middle, limit)) {
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    return {value_of_all, -kInfinite, kInfinite};
  }
  double step = 1e-9;
  for (const double value : log_ratios) step = std::max(step, std::abs(value - middle) / 16);
  return {value_of_all, std::min(value_of_all, edge(log_ratios, middle, -step, limit)),
          std::max(value_of_all, edge(log_ratios, middle, step, limit))};
}

bool certain(const Interval& log_ratio, double resolution, double bound) {
  const auto& [value, low, high] = log_ratio;
  if (!std::isfinite(low) || !std::isfinite(high)) return false;
  if (bound != 0 && low < bound && bound < high) return false;
  if (low >= -resolution && high <= resolution) return true;
  const bool sign_known = low > 0 || high < 0;
  return sign_known && (high - low) / 2 <= std::max(resolution, std::abs(value) / 4);
}

}  // namespace causalctl::compare
