// The Mann-Whitney U test (Annals of Mathematical Statistics 18 (1947)), which the Coz paper's
// Table 3 uses: whether the runs of A and those of B come from the same distribution. Pure.
#pragma once

#include <span>

namespace causalctl::compare {

struct MannWhitney {
  double u = 0;        // pairs (a, b) with a > b; ties count half
  double p_value = 1;  // two-sided
};

// Exact if there are no ties and at most kExact runs of each; otherwise by the normal
// approximation, with continuity and tie corrections. p = 1 if one sample is empty.
inline constexpr std::size_t kExact = 40;
MannWhitney mann_whitney(std::span<const double> a, std::span<const double> b);

}  // namespace causalctl::compare
