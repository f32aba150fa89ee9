#include "controller/continuous/analysis/flow.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "controller/continuous/analysis/circulation.h"
#include "controller/continuous/analysis/flow_problem.h"
#include "controller/continuous/analysis/flow_solution.h"
#include "controller/continuous/analysis/network.h"

namespace causalctl::continuous {
namespace {

// One standard deviation of a guess from samples is a factor of 3 to 7: its logarithm, for 5.
constexpr double kDeviationOfGuess = 1.6;
// Stages of the terms of counts: an exact count has this deviation, relative, at the last one.
constexpr double kLastStage = 1e-5;
constexpr int kStepsOfStage = 30;
constexpr int kStepsOfLastStage = 100;
// An exact count that is fitted so well is met: the rest is rounding.
constexpr double kMet = 1e-6;

constexpr double kTolerated = 0.01;  // of a count
constexpr double kToleratedDeviations = 4;

class Estimate {
 public:
  explicit Estimate(FlowProblem problem) : problem_(std::move(problem)) {
    for (const std::size_t arc : problem_.live) live_arcs_.push_back(problem_.network.arcs[arc]);
    find_determined();
  }

  Frequencies frequencies(std::span<const KnownCount> known) {
    const Network currents(problem_.network.vertices, live_arcs_);
    const bool is_solved = !currents.is_too_dense() && solve(currents);
    if (currents.is_too_dense()) flows_ = guessed_flows();
    find_fit();
    find_exact();
    settle();
    deviations_.assign(flows_.size(), 0);
    for (const std::size_t arc : problem_.live) {
      if (!is_exact_[arc]) deviations_[arc] = kDeviationOfGuess * flows_[arc];
    }
    if (!currents.is_too_dense()) find_deviations(currents);
    return result(known, is_solved);
  }

 private:
  bool is_known(std::size_t arc) const { return problem_.counts[arc].has_value(); }

  // The arcs that conservation and counts tell, and those of them that exact counts tell.
  void find_determined() {
    std::vector<bool> unknown = problem_.is_live;
    for (const std::size_t arc : problem_.live) {
      if (is_known(arc)) unknown[arc] = false;
    }
    is_determined_ = bridges(problem_.network, unknown);
    for (std::size_t arc = 0; arc < unknown.size(); ++arc) {
      if (!unknown[arc]) is_determined_[arc] = true;
    }
  }

  // Returns whether it converged.
  bool solve(const Network& currents) {
    FlowSolution solution(problem_, currents);
    for (double stage = 1; stage > 1.5 * kLastStage; stage /= 10) {
      solution.solve(stage, kStepsOfStage);
    }
    const bool is_solved = solution.solve(kLastStage, kStepsOfLastStage);
    flows_ = solution.flows();
    return is_solved;
  }

  std::vector<double> guessed_flows() const {
    std::vector<double> flows(problem_.guesses.size());
    for (const std::size_t arc : problem_.live) {
      flows[arc] = is_known(arc) ? problem_.counts[arc]->value : problem_.guesses[arc];
    }
    return flows;
  }

  // Finds which exact counts are met, which then are the flow to the last digit.
  void find_fit() {
    std::vector<bool> not_exact(problem_.is_live.size());
    std::vector<double> counted(problem_.is_live.size());
    for (const std::size_t arc : problem_.live) {
      not_exact[arc] = !is_known(arc) || !problem_.counts[arc]->is_exact();
      if (!not_exact[arc]) counted[arc] = problem_.counts[arc]->value;
    }
    is_met_.assign(problem_.is_live.size(), false);
    if (!are_balanced(problem_.network, not_exact, counted)) return;
    for (const std::size_t arc : problem_.live) {
      if (not_exact[arc]) continue;
      is_met_[arc] =
          std::abs(flows_[arc] - counted[arc]) <= kMet * std::max(counted[arc], kOneExecution);
      if (is_met_[arc]) flows_[arc] = counted[arc];
    }
  }

  void find_exact() {
    std::vector<bool> not_met = problem_.is_live;
    for (const std::size_t arc : problem_.live) not_met[arc] = !is_met_[arc];
    is_exact_ = bridges(problem_.network, not_met);
    for (const std::size_t arc : problem_.live) is_exact_[arc] = is_exact_[arc] || is_met_[arc];
  }

  // Lets the flows of a forest follow from the others: arcs that are not known first, then those
  // that are known least; the larger before the smaller.
  void settle() {
    std::vector<std::size_t> order = problem_.live;
    const auto rank = [&](std::size_t arc) {
      const int known = !is_known(arc) ? 0 : is_met_[arc] ? 2 : 1;
      return std::tuple(known, -flows_[arc]);
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
    balance(problem_.network, order, flows_);
    for (double& flow : flows_) flow = std::max(0.0, flow);
  }

  // The deviation of a count from the flow: its own, or its misfit if it is exact.
  double deviation_of_count(std::size_t arc) const {
    const ArcCount& count = *problem_.counts[arc];
    const double least = 1e-9 * std::max(count.value, kOneExecution);
    if (!count.is_exact()) return std::max(count.deviation, least);
    return is_met_[arc] ? least : std::max(std::abs(flows_[arc] - count.value), least);
  }

  // The flows are normal variables, of variances that are the conductances, on the condition that
  // they are balanced. What counts determine is taken without the guesses, which are not
  // independent of each other.
  void find_deviations(const Network& currents) {
    constexpr double kUninformed = 1e3;  // relative deviation of what nothing is known of
    for (const bool of_determined : {true, false}) {
      std::vector<double> variances;
      for (const std::size_t arc : problem_.live) {
        const double flow = std::max(flows_[arc], 1e-9);
        double deviation = kUninformed * flow;
        if (is_known(arc)) {
          deviation = deviation_of_count(arc);
        } else if (!of_determined && !is_determined_[arc]) {
          deviation = kDeviationOfGuess * flow / std::sqrt(problem_.weights[arc]);
        }
        variances.push_back(deviation * deviation);
      }
      const std::vector<double> resistances = currents.resistances(variances);
      for (std::size_t i = 0; i < problem_.live.size(); ++i) {
        const std::size_t arc = problem_.live[i];
        if (is_determined_[arc] != of_determined || is_exact_[arc]) continue;
        deviations_[arc] =
            std::sqrt(variances[i] * std::max(0.0, 1 - variances[i] * resistances[i]));
      }
    }
  }

  Frequency frequency(std::size_t arc, bool is_solved) const {
    // Without the solution only what is exact is certain.
    const bool is_certain = is_solved || !problem_.is_live[arc] || is_exact_[arc];
    return {flows_[arc], deviations_[arc], is_determined_[arc] && is_certain};
  }

  Frequencies result(std::span<const KnownCount> known, bool is_solved) const {
    Frequencies result;
    for (std::size_t arc = 0; arc < problem_.nodes + problem_.edges; ++arc) {
      (arc < problem_.nodes ? result.nodes : result.edges).push_back(frequency(arc, is_solved));
    }
    for (const KnownCount& count : known) {
      const auto& values = count.of == KnownCount::Of::node ? result.nodes : result.edges;
      const double misfit = std::abs(values[count.index].value - count.count);
      const double tolerated = std::max({kOneExecution, kTolerated * count.count,
                                         kToleratedDeviations * std::abs(count.deviation)});
      if (std::isfinite(misfit) && count.count >= 0 && misfit > tolerated) {
        result.is_consistent = false;
      }
    }
    return result;
  }

  FlowProblem problem_;
  std::vector<Arc> live_arcs_;
  // By arc. Exact counts that are met are exact, and so is what they determine.
  std::vector<bool> is_determined_, is_met_, is_exact_;
  std::vector<double> flows_, deviations_;  // by arc
};

}  // namespace

Frequencies estimate_frequencies(const FlowGraph& graph, std::span<const KnownCount> known,
                                 std::span<const double> guesses) {
  return Estimate(flow_problem(graph, known, guesses)).frequencies(known);
}

}  // namespace causalctl::continuous
