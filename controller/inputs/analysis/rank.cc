#include "controller/inputs/analysis/rank.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace causalctl::inputs {
namespace {

namespace model = report::inputs;
using model::Of;
using model::Verdict;

// Smaller is first.
using Rank = std::tuple<int, double, std::string, std::string, std::uint64_t>;

Rank rank_of(const model::Profile& profile, const model::Routine& routine) {
  const auto unit = static_cast<std::size_t>(profile.cost);
  int level = 2;
  double value = routine.own_share[unit];
  if (model::is_superlinear(profile, routine)) {
    const bool own = profile.growth(routine, Of::own).verdict == Verdict::superlinear;
    const model::Growth& mean = profile.growth(routine, Of::mean);
    const model::Growth& growth =
        mean.verdict == Verdict::superlinear ? mean : profile.growth(routine, Of::worst);
    level = own ? 0 : 1;
    value = routine.share[unit] * (std::pow(10, growth.exponent.low - 1) - 1);
  }
  return {level, -value, routine.name, routine.module, routine.offset};
}

}  // namespace

void rank(model::Profile& profile) {
  std::sort(profile.routines.begin(), profile.routines.end(),
            [&](const model::Routine& a, const model::Routine& b) {
              return rank_of(profile, a) < rank_of(profile, b);
            });
}

}  // namespace causalctl::inputs
