// Counts how many of the calls on sampled paths were tail calls. Pure.
#pragma once

#include <span>

#include "controller/callpath/analysis/epoch_choice.h"
#include "controller/callpath/record/recording.h"
#include "controller/report/callpath/model.h"

namespace causalctl::callpath {

report::callpath::TailCalls count_tails(std::span<const Recording> runs,
                                        const ChosenEpochs& epochs);

}  // namespace causalctl::callpath
