// The numbers of JSON reports: six significant digits (more would only show the noise of the
// machine that computed them, and would make equal reports differ); null where there is none. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "controller/report/causal/model.h"

namespace causalctl::report {

nlohmann::ordered_json json_number(const std::optional<double>& value);  // not finite: null
nlohmann::ordered_json json_number(const std::optional<Interval>& interval, double Interval::*part);

}  // namespace causalctl::report
