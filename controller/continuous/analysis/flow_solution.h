// Newton's method for the function of flow.h, of which it is the primal-dual form: the curvature of
// -log x is taken from a multiplier that goes to weight / x, so that flows which are far too large
// and far too small come near together (Wächter & Biegler, "On the implementation of an
// interior-point filter line-search algorithm", Mathematical Programming 106 (2006), §2.2, and
// equation 16 for the bounds of multipliers). The flow is a circulation at each step.
// Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "controller/continuous/analysis/flow_problem.h"
#include "controller/continuous/analysis/network.h"

namespace causalctl::continuous {

// The deviation that a count of which less is known has at least, in executions: of one in which
// the run began or ended.
inline constexpr double kOneExecution = 1;

class FlowSolution {
 public:
  // The problem, of which guesses may change, and the network of its live arcs, which are not too
  // dense, must outlive it.
  FlowSolution(const FlowProblem& problem, const Network& currents);

  // Minimises the function at a stage: counts have this relative deviation at least, and guesses
  // this share of their weight. Returns whether it converged within the steps.
  bool solve(double stage, int steps);

  // By arc, in executions: above 0 where live.
  const std::vector<double>& flows() const { return flows_; }

 private:
  // The derivative of an arc's terms, and the second one of the term of its count.
  struct Slope {
    double first = 0, second = 0;
  };

  Slope slope(std::size_t arc, double flow) const;
  void balance_again();
  std::vector<double> newton_step() const;
  double longest(const std::vector<double>& step) const;
  double shortened(const std::vector<double>& step, double length) const;
  double change(const std::vector<double>& step) const;
  void move_multipliers(const std::vector<double>& step);
  void keep_multipliers_near();

  const FlowProblem& problem_;
  const Network& currents_;
  std::vector<double> flows_;
  std::vector<double> multipliers_;  // by live arc
  double stage_ = 1;
};

}  // namespace causalctl::continuous
