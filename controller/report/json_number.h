// Rounds the numbers of JSON reports to six significant digits. More would only show the noise of
// the machine that computed them, and would make equal reports differ. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "controller/report/causal/model.h"

namespace causalctl::report {

// Returns null if there is no value or if it is not finite.
nlohmann::ordered_json json_number(const std::optional<double>& value);
nlohmann::ordered_json json_number(const std::optional<Interval>& interval, double Interval::*part);

}  // namespace causalctl::report
