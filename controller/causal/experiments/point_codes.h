// Finds the code that each progress point stands in, to explain points without visits.
#pragma once

#include <vector>

#include "controller/causal/record/evidence.h"
#include "controller/progress/progress.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::causal {

std::vector<PointCode> codes_of(const progress::CountedPoints& points,  // by tag
                                unwind::Symbolizer& symbolizer);

}  // namespace causalctl::causal
