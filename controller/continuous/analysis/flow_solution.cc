#include "controller/continuous/analysis/flow_solution.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "controller/continuous/analysis/circulation.h"

namespace causalctl::continuous {
namespace {

constexpr double kNearBoundary = 0.95;  // of the way to where a flow is 0
constexpr double kAlmost = 0.1;         // relative change, below which a step is right
constexpr double kConverged = 1e-5;     // relative change of any flow
constexpr double kNegligible = 1e-12;   // of the largest flow

}  // namespace

FlowSolution::FlowSolution(const FlowProblem& problem, const Network& currents)
    : problem_(problem),
      currents_(currents),
      flows_(covering_circulation(problem.network, problem.is_live, problem.guesses)) {
  for (const std::size_t arc : problem_.live) {
    multipliers_.push_back(problem.weights[arc] / problem.guesses[arc]);
  }
}

bool FlowSolution::solve(double stage, int steps) {
  stage_ = stage;
  balance_again();
  while (steps-- > 0) {
    const std::vector<double> step = newton_step();
    const double changing = change(step);
    if (!std::isfinite(changing)) return false;
    double length = longest(step);
    move_multipliers(step);
    if (changing > kAlmost) length = shortened(step, length);
    for (std::size_t i = 0; i < step.size(); ++i) flows_[problem_.live[i]] += length * step[i];
    keep_multipliers_near();
    if (changing < kConverged) return true;
  }
  return false;
}

// Returns the largest change that the step makes, relative to the flow. It is not finite if one of
// the step is not.
double FlowSolution::change(const std::vector<double>& step) const {
  const double least = kNegligible * *std::max_element(flows_.begin(), flows_.end());
  double largest = 0;
  for (std::size_t i = 0; i < step.size(); ++i) {
    const double flow = flows_[problem_.live[i]];
    if (!std::isfinite(step[i] / flow)) return std::numeric_limits<double>::infinity();
    if (flow > least) largest = std::max(largest, std::abs(step[i]) / flow);
  }
  return largest;
}

// Returns how much of the step can be taken with all flows above 0.
double FlowSolution::longest(const std::vector<double>& step) const {
  double length = 1;
  for (std::size_t i = 0; i < step.size(); ++i) {
    const double flow = flows_[problem_.live[i]];
    if (step[i] < 0) length = std::min(length, -kNearBoundary * flow / step[i]);
  }
  return length;
}

FlowSolution::Slope FlowSolution::slope(std::size_t arc, double flow) const {
  Slope result{problem_.weights[arc] * (1 / problem_.guesses[arc] - 1 / flow), 0};
  if (const auto& count = problem_.counts[arc]) {
    const double deviation =
        std::max(count->deviation, stage_ * std::max(count->value, kOneExecution));
    const double precision = 1 / (stage_ * deviation * deviation);
    result.first += (flow - count->value) * precision;
    result.second += precision;
  }
  return result;
}

// Rounding adds up over steps, and beside a count that is exact it is a contradiction.
void FlowSolution::balance_again() {
  std::vector<std::size_t> order = problem_.live;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return flows_[a] > flows_[b]; });
  std::vector<double> balanced = flows_;
  balance(problem_.network, order, balanced);
  const bool is_above_0 = std::all_of(problem_.live.begin(), problem_.live.end(),
                                      [&](std::size_t arc) { return balanced[arc] > 0; });
  if (is_above_0) flows_ = std::move(balanced);
}

// Returns the step of each live arc. What keeps the balance are potentials of vertices, which drive
// a current.
std::vector<double> FlowSolution::newton_step() const {
  std::vector<double> into(problem_.network.vertices), conductances, driven;
  for (std::size_t i = 0; i < problem_.live.size(); ++i) {
    const std::size_t arc = problem_.live[i];
    const Slope here = slope(arc, flows_[arc]);
    const auto [from, to] = problem_.network.arcs[arc];
    conductances.push_back(1 / (here.second + multipliers_[i] / flows_[arc]));
    driven.push_back(-here.first);
    into[from] += driven.back() * conductances.back();
    into[to] -= driven.back() * conductances.back();
  }
  std::vector<double> step = currents_.differences(conductances, into);
  for (std::size_t i = 0; i < step.size(); ++i) {
    step[i] = conductances[i] * (driven[i] - step[i]);
  }
  return step;
}

void FlowSolution::move_multipliers(const std::vector<double>& step) {
  std::vector<double> changes;
  double length = 1;
  for (std::size_t i = 0; i < problem_.live.size(); ++i) {
    const double flow = flows_[problem_.live[i]], multiplier = multipliers_[i];
    changes.push_back((problem_.weights[problem_.live[i]] - multiplier * step[i]) / flow -
                      multiplier);
    if (changes[i] < 0) length = std::min(length, -kNearBoundary * multiplier / changes[i]);
  }
  for (std::size_t i = 0; i < problem_.live.size(); ++i) multipliers_[i] += length * changes[i];
}

void FlowSolution::keep_multipliers_near() {
  constexpr double kFarthest = 1e10;
  for (std::size_t i = 0; i < problem_.live.size(); ++i) {
    const double central = problem_.weights[problem_.live[i]] / flows_[problem_.live[i]];
    multipliers_[i] = std::clamp(multipliers_[i], central / kFarthest, central * kFarthest);
  }
}

// Halves the length until the function does not rise any more there.
double FlowSolution::shortened(const std::vector<double>& step, double length) const {
  const auto rise = [&](double at) {
    double sum = 0;
    for (std::size_t i = 0; i < problem_.live.size(); ++i) {
      sum += step[i] * slope(problem_.live[i], flows_[problem_.live[i]] + at * step[i]).first;
    }
    return sum;
  };
  const double here = std::abs(rise(0));
  for (int halvings = 0; halvings < 30 && rise(length) > 0.1 * here; ++halvings) length /= 2;
  return length;
}

}  // namespace causalctl::continuous
