// An interval that is valid at every interim analysis. A run that ends when it has seen enough
// (--until-certain) may check it after each block, and the chance that the truth is ever outside is
// still at most alpha. Pure.
//
// Under the right effect θ the values of blocks, x - θ, are symmetric about zero: by the random
// order of each block if nothing differs, and otherwise by equal noise of both sides. Then each of
// the factors 2 / (1 + exp(-2 λ x)) has the mean 1, so their product over the blocks, mixed over
// several λ, is a martingale that starts at 1. The probability that it ever exceeds 1/alpha is at
// most alpha (Ville 1939; tests of symmetry by e-values: Ramdas, Ruf, Larsson & Koolen, "Admissible
// anytime-valid sequential inference must rely on nonnegative martingales" (2020), §5; Ramdas et
// al., "Game-theoretic statistics and safe anytime-valid inference", Statistical Science 38
// (2023)). The interval contains the effects that are not refuted. No factor exceeds 2, so one
// stalled run cannot decide, and nothing is assumed about how noisy the runs are.
#pragma once

#include <cstddef>
#include <span>

#include "controller/compare/effect.h"

namespace causalctl::compare {

// Returns the logarithm of the evidence against symmetry about zero, which is refuted if it exceeds
// log(1 / alpha).
double log_evidence(std::span<const double> values);

// With fewer blocks the evidence cannot reach 20, and a 95 % interval has no ends: each factor is
// below 2, and half of the bets, those with the other sign, lose. Usually it takes about eight.
inline constexpr std::size_t kFewestBlocksSequential = 6;
constexpr std::size_t fewest_blocks(bool sequential) {
  return sequential ? kFewestBlocksSequential : kFewestBlocks;
}

// Returns logarithms, as bootstrap() does; the interval contains the centre. Its ends may be
// infinite: there are too few blocks, or they are so lopsided that they are symmetric about no
// effect.
Interval confidence_sequence(std::span<const double> log_ratios, double alpha);

// Returns true if nothing is left to find out. Either the interval excludes zero and is as narrow
// as `resolution` on each side of its middle, or as a quarter of the effect; or it lies within
// ±resolution of zero. A decision may also depend on the effect `bound` (--fail-if-slower); 0 if
// none does. All are log ratios.
bool certain(const Interval& log_ratio, double resolution, double bound);

}  // namespace causalctl::compare
