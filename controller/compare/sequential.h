// An interval that is valid at every interim analysis: a run that ends when it has seen enough
// (--until-certain) may check after each block, and the chance that the truth is ever outside is
// still at most alpha. Pure.
//
// Under the right effect θ the values of blocks, x - θ, are symmetric about zero: by the random
// order of each block when nothing differs, and by equal noise of both sides otherwise. Then each
// of the factors 2 / (1 + exp(-2 λ x)) has the mean 1, so their product over the blocks, mixed over
// several λ, is a martingale that starts at 1, and exceeds 1/alpha ever with probability alpha at
// most (Ville 1939; tests of symmetry by e-values: Ramdas, Ruf, Larsson & Koolen, "Admissible
// anytime-valid sequential inference must rely on nonnegative martingales" (2020), §5;
// Ramdas et al., "Game-theoretic statistics and safe anytime-valid inference", Statistical Science
// 38 (2023)). The interval is what is not refuted. No factor exceeds 2, so one stalled run cannot
// decide, and nothing is assumed of how noisy the runs are.
#pragma once

#include <cstddef>
#include <span>

#include "controller/compare/effect.h"

namespace causalctl::compare {

// log of the evidence against symmetry about zero; refuted where it exceeds log(1 / alpha).
double log_evidence(std::span<const double> values);

// With fewer the evidence cannot reach 20, and an interval for 95 % has no ends: each factor is
// below 2, and half of the bets, which have the other sign, lose. As a rule it takes about eight.
inline constexpr std::size_t kFewestBlocksSequential = 6;
constexpr std::size_t fewest_blocks(bool sequential) {
  return sequential ? kFewestBlocksSequential : kFewestBlocks;
}

// In logarithms, as bootstrap(); it contains the centre. The ends may be infinite: there are too
// few blocks, or they are so lopsided that they are symmetric about no effect.
Interval confidence_sequence(std::span<const double> log_ratios, double alpha);

// Nothing is left to find out: the interval excludes zero and is as narrow as `resolution` on each
// side of its middle or a quarter of the effect, or lies within ±resolution of zero. `bound` is an
// effect about which a decision hangs as well (--fail-if-slower), 0 for none; all are log ratios.
bool certain(const Interval& log_ratio, double resolution, double bound);

}  // namespace causalctl::compare
