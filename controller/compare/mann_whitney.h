// The Mann-Whitney U test (Annals of Mathematical Statistics 18 (1947)), the test of the Coz
// paper's Table 3: do the runs of A and those of B come from the same distribution? Pure.
#pragma once

#include <span>

namespace causalctl::compare {

struct MannWhitney {
  double u = 0;        // pairs (a, b) with a > b, ties half
  double p_value = 1;  // two-sided
};

// Exact where there are no ties and at most kExact runs of each; else by the normal approximation,
// with continuity and tie corrections. One without values: p = 1.
inline constexpr std::size_t kExact = 40;
MannWhitney mann_whitney(std::span<const double> a, std::span<const double> b);

}  // namespace causalctl::compare
