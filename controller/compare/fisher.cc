#include "controller/compare/fisher.h"

#include <algorithm>
#include <cmath>

namespace causalctl::compare {
namespace {

double log_choose(std::size_t n, std::size_t k) {
  const auto log_factorial = [](std::size_t of) {
    return std::lgamma(static_cast<double>(of) + 1);
  };
  return log_factorial(n) - log_factorial(k) - log_factorial(n - k);
}

}  // namespace

double fisher_exact(const Failures& a, const Failures& b) {
  constexpr double kSame = 1e-7;  // of rounding
  const std::size_t failed = a.failed + b.failed;
  const std::size_t runs = a.runs + b.runs;
  if (a.runs == 0 || b.runs == 0) return 1;
  const auto log_probability = [&](std::size_t of_a) {
    return log_choose(a.runs, of_a) + log_choose(b.runs, failed - of_a) - log_choose(runs, failed);
  };
  const double limit = log_probability(a.failed) + kSame;
  double sum = 0;
  const std::size_t fewest = failed > b.runs ? failed - b.runs : 0;
  for (std::size_t of_a = fewest; of_a <= std::min(failed, a.runs); ++of_a) {
    const double log = log_probability(of_a);
    if (log <= limit) sum += std::exp(log);
  }
  return std::min(sum, 1.0);
}

}  // namespace causalctl::compare
