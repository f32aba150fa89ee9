// Chooses the curve that a routine's costs follow, says how certain its growth is, and gives a
// verdict (input-sensitive profiling, §3, Figures 4 to 6, where the reader judges by eye). Pure.
//
// Algorithm:
//  1. Sizes that are close together are joined, at most kMostPoints; a size of 0 is left out.
//  2. Every shape of curve.h is fitted. A mean over few calls is worth less: its weight is
//     1/(t² + v/calls), where v is the relative variance of the calls of one size, and t² what the
//     first fit leaves besides.
//  3. Akaike's criterion, corrected for few points (AICc), chooses. The free power must be better
//  by
//     kMargin, because simple shapes are what algorithms have.
//  4. The 95 % interval of the exponent is that of the profile likelihood: the exponents whose best
//     curve leaves squares that Student's t allows. It needs no normal approximation, and no seed.
//  5. Nothing is called superlinear unless it is significant against a constant (1 in 10,000), its
//     exponent is certain, and the verdict stays when the largest or the smallest size is left out.
//     It must not be explained as well by the number of calls, because a worst case of many calls
//     is worse than that of few.
//
// Sources: Burnham & Anderson, Model Selection and Multimodel Inference (2002), §2.4 and §6.8, for
// AICc; Seber & Wild, Nonlinear Regression (1989), §5.9, for the interval.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "controller/base/interval.h"
#include "controller/inputs/analysis/curve.h"
#include "controller/report/inputs/model.h"

namespace causalctl::inputs {

using report::inputs::kFewestSizes;
using report::inputs::kNarrowestRange;
using report::inputs::Verdict;

inline constexpr std::size_t kMostPoints = 64;

// Costs by size, ascending.
struct Series {
  std::vector<Point> points;
  double variance = 0;    // relative, of the calls of one size
  bool is_worst = false;  // the costs are the largest ones, not means
};

struct Fit {
  Verdict verdict = Verdict::too_few;
  std::size_t sizes = 0;  // distinct ones from 1 on
  double smallest = 0;    // of them
  double largest = 0;
  Curve curve;        // the chosen one; of no meaning if there were too few sizes
  Curve power;        // the free power
  Interval exponent;  // of the free power
  Curve slowest;      // powers with the exponents of the interval's ends
  Curve fastest;
};

Fit fit_growth(const Series& series);

}  // namespace causalctl::inputs
