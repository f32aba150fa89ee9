// How noisy the experiments are, and what an experiment says once stalls are taken out of it. Pure.
//
// A unit has few treatments, often three to ten: too few to know their own spread by. But the noise
// is the machine's and the program's, not the unit's. So the variance is learnt in three steps,
// each shrunk towards the one before it, which counts as kPrior observations (moderated t: Smyth,
// "Linear Models and Empirical Bayes Methods …", Statistical Applications in Genetics and Molecular
// Biology 3 (2004)): from baselines against baselines, from the treatments of all units around
// their curves, from this unit's own. A unit that scatters more than others is judged by its own
// scatter as soon as it has the experiments to show it.
//
// Curves: log ratio = slope · min(speedup, knee), fitted by least absolute deviations. It holds
// what occurs: nothing, a straight line, and figure 1 of the Coz paper, which rises until something
// else becomes the bottleneck. It is used only to tell noise from effect; no result is read off it.
//
// Runs may differ in their noise: all residuals are those of a run whose scale is 1
// (estimate_run_noise.h).
//
// Stalls: residuals around the curve are clipped (statistics.h, pseudo-values).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "controller/causal/analysis/estimate_compare.h"
#include "controller/causal/analysis/estimate_run_noise.h"

namespace causalctl::causal {

// A treatment with stalls taken out of its log ratio.
struct Clean {
  Effect effect;
  double fitted = 0;  // its log ratio on the curve
};

struct CleanUnit {
  std::vector<Clean> effects;
  Noise noise;
};

// Gives each effect the scale of its run.
void scale_noise(PointEffects& effects);

// The noise of baselines against baselines; they have no effect by definition. Freedom 0: too few.
Noise baseline_noise(std::span<const Effect> nulls);

// Of each unit's treatments (any number of units, any number of treatments), in the same order.
std::vector<CleanUnit> clean(std::span<const std::vector<Effect>> units, const Noise& baselines);

CleanUnit clean_nulls(std::span<const Effect> nulls);

}  // namespace causalctl::causal
