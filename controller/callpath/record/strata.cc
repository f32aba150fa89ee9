#include "controller/callpath/record/strata.h"

#include <algorithm>
#include <cmath>

#include "controller/base/statistics.h"

namespace causalctl::callpath {
namespace {

constexpr double kTail = 0.025;
// What a trap costs is measured on causalctl itself. In a process that does much else, whose code
// and data it drives out of the caches, it may cost half as much again.
constexpr double kTrapsDearer = 1.5;
constexpr double kMostFreedom = 1000;

double rate(const Stratum& stratum) {
  return static_cast<double>(stratum.calls) / static_cast<double>(stratum.piece_ns);
}

// Two rates of the same distribution differ by this much on average.
double variance_of(const Stratum& one, const Stratum& other) {
  const double difference = rate(one) - rate(other);
  return difference * difference / 2;
}

}  // namespace

void Strata::Sums::add(const Stratum* before, const Stratum& stratum, const Stratum* after) {
  const auto gap_ns = static_cast<double>(stratum.stratum_ns - stratum.piece_ns);
  if (gap_ns <= 0) return;
  const double in_gap = rate(stratum) * gap_ns;
  const double share = kTrapsDearer * std::clamp(stratum.cost_share, 0.0, kMostCostShare);
  double of_rate = 0;
  for (const Stratum* other : {before, after}) {
    if (other != nullptr) of_rate += variance_of(stratum, *other);
  }
  if (before != nullptr && after != nullptr) of_rate /= 2;
  if (before == nullptr && after == nullptr) of_rate = rate(stratum) * rate(stratum);
  const double weight = static_cast<double>(stratum.stratum_ns) * gap_ns;
  calls += in_gap;
  held_back += in_gap * share / (1 - share);
  variance += weight * of_rate;
  weights += weight;
  squared_weights += weight * weight;
}

// The last piece need not be like what comes after it: if it was dense, the next one comes late.
void Strata::Sums::add_tail(double mean, double last, Nanoseconds tail_ns) {
  const auto length_ns = static_cast<double>(tail_ns);
  const double of_rate = (weights > 0 ? variance / weights : 0) + (mean - last) * (mean - last) / 2;
  const double weight = length_ns * length_ns;
  calls += mean * length_ns;
  variance += weight * of_rate;
  weights += weight;
  squared_weights += weight * weight;
}

double Strata::mean_rate(double in_gaps) const {
  return (static_cast<double>(calls_) + in_gaps) / static_cast<double>(stratum_ns_);
}

void Strata::add(const Stratum& next) {
  if (last_) {
    sums_.add(before_ ? &*before_ : nullptr, *last_, &next);
    before_ = last_;
  }
  last_ = next;
  calls_ += next.calls;
  piece_ns_ += next.piece_ns;
  stratum_ns_ += next.stratum_ns;
}

Strata::Gaps Strata::in_gaps(Nanoseconds more_ns) const {
  if (!last_) return {};
  Sums sums = sums_;
  Stratum last = *last_;
  last.stratum_ns = std::max(last.piece_ns, last.stratum_ns + std::min<Nanoseconds>(more_ns, 0));
  sums.add(before_ ? &*before_ : nullptr, last, nullptr);
  if (more_ns > 0) sums.add_tail(mean_rate(sums.calls), rate(last), more_ns);
  if (sums.weights <= 0) return {};
  // Each difference has a stratum in common with the next one, so that they are worth two thirds
  // of their number (von Neumann 1941), which is less if the strata have different weights.
  const double freedom = 2.0 / 3 * sums.weights * sums.weights / sums.squared_weights;
  const auto whole = static_cast<std::size_t>(std::clamp(freedom, 1.0, kMostFreedom));
  const double error = statistics::student_t_quantile(kTail, whole) * std::sqrt(sums.variance);
  return {sums.calls, std::max(0.0, sums.calls - error), sums.calls + sums.held_back + error};
}

}  // namespace causalctl::callpath
