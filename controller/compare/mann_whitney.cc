#include "controller/compare/mann_whitney.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace causalctl::compare {
namespace {

// Returns P(U <= u) if both samples come from one distribution. The number of orders with a given U
// obeys N(m, n, u) = N(m - 1, n, u - n) + N(m, n - 1, u): the largest value is either one of the
// first sample, and exceeds all n of the second, or one of the second. The code computes with
// probabilities.
double exact_tail(std::size_t m, std::size_t n, std::size_t u) {
  // rows[j][v] is the probability that U = v for i values of the first sample and j of the second.
  std::vector<std::vector<double>> rows(n + 1, {1.0});
  for (std::size_t i = 1; i <= m; ++i) {
    std::vector<std::vector<double>> next(n + 1);
    next[0] = {1.0};
    for (std::size_t j = 1; j <= n; ++j) {
      const double first = static_cast<double>(i) / static_cast<double>(i + j);
      auto& row = next[j];
      row.assign(i * j + 1, 0);
      for (std::size_t v = 0; v < rows[j].size(); ++v) row[v + j] += first * rows[j][v];
      for (std::size_t v = 0; v < next[j - 1].size(); ++v) row[v] += (1 - first) * next[j - 1][v];
    }
    rows = std::move(next);
  }
  double tail = 0;
  for (std::size_t v = 0; v <= std::min(u, m * n); ++v) tail += rows[n][v];
  return tail;
}

// Returns Σ (t³ - t) over groups of t equal values.
double tie_sum(std::span<const double> a, std::span<const double> b) {
  std::vector<double> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  std::sort(all.begin(), all.end());
  double sum = 0;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i;
    while (end < all.size() && all[end] == all[i]) ++end;
    const double t = static_cast<double>(end - i);
    sum += t * t * t - t;
    i = end;
  }
  return sum;
}

}  // namespace

MannWhitney mann_whitney(std::span<const double> a, std::span<const double> b) {
  MannWhitney result;
  if (a.empty() || b.empty()) return result;
  for (const double x : a) {
    for (const double y : b) result.u += x > y ? 1 : x == y ? 0.5 : 0;
  }
  const double m = static_cast<double>(a.size());
  const double n = static_cast<double>(b.size());
  const double ties = tie_sum(a, b);
  const double smaller = std::min(result.u, m * n - result.u);
  if (ties == 0 && a.size() <= kExact && b.size() <= kExact) {
    result.p_value =
        std::min(1.0, 2 * exact_tail(a.size(), b.size(), static_cast<std::size_t>(smaller)));
    return result;
  }
  const double variance = m * n / 12 * (m + n + 1 - ties / ((m + n) * (m + n - 1)));
  if (variance <= 0) return result;  // all values are equal
  const double z = std::max(0.0, m * n / 2 - smaller - 0.5) / std::sqrt(variance);
  result.p_value = std::erfc(z / std::numbers::sqrt2);
  return result;
}

}  // namespace causalctl::compare
