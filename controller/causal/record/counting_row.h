// A row of a run's first line that stands in its last line, too, because the ways in which points
// are counted may have changed after the survey.
#pragma once

#include <tuple>

#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

inline constexpr std::tuple kCountingRow{
    session::detail::row<Run>("counting", &Run::counting, kIfSet)};

}  // namespace causalctl::causal
