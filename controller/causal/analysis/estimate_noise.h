// Tells how noisy the experiments are, and takes stalls out of their results. Pure.
//
// A unit often has three to ten treatments, which are too few to know their spread. But the noise
// comes from the machine and the program, not from the unit. So the variance is estimated in three
// steps: from baselines against baselines, from the treatments of all units around their curves,
// and from this unit's own treatments. Each step is shrunk towards the one before it, which counts
// as kAlike observations (moderated t: Smyth, "Linear Models and Empirical Bayes Methods …",
// Statistical Applications in Genetics and Molecular Biology 3 (2004)). A unit that scatters more
// than others is judged by its own scatter as soon as it has enough experiments to show it.
//
// A curve is log ratio = slope · min(speedup, knee), fitted by least absolute deviations. It can
// describe no effect, a straight line, and figure 1 of the Coz paper, which rises until something
// else becomes the bottleneck. It only tells noise from effect; no result is read off it.
//
// Runs may differ in their noise, so residuals are scaled to a run whose scale is 1
// (estimate_run_noise.h). Stalls are residuals that are clipped (statistics.h, pseudo-values).
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
  double fitted = 0;  // log ratio on the curve
};

struct CleanUnit {
  std::vector<Clean> effects;
  Noise noise;
};

// Gives each effect the scale of its run.
void scale_noise(PointEffects& effects);

// Returns the noise of baselines compared with baselines, which have no effect by definition. Its
// freedom is 0 if they are too few.
Noise baseline_noise(std::span<const Effect> nulls);

// How many observations of a unit the noise of all units counts as. The machine's noise is in all
// units alike. Noise by the number of samples, and by the threads through which a gain passes, is
// not.
inline constexpr std::size_t kAlike = 40, kUnlike = 4;

// Cleans the treatments of each unit and returns the units in the same order. There may be any
// number of units and of treatments.
std::vector<CleanUnit> clean(std::span<const std::vector<Effect>> units, const Noise& baselines,
                             std::size_t alike = kAlike);

CleanUnit clean_nulls(std::span<const Effect> nulls);

}  // namespace causalctl::causal
