// What the tables of continuous profiles have in common. Pure.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "controller/report/continuous/model.h"
#include "controller/report/text.h"

namespace causalctl::report::continuous {

inline std::string seconds(Nanoseconds time_ns) {
  return fmt::format("{:.2f}", static_cast<double>(time_ns) / kSecond);
}

// Adds the line that says what was recorded where and when. REQUIRES: one epoch or more.
void add_epochs(const std::string& host, const std::vector<EpochHead>& epochs, Text& text);
// Returns them as a JSON array, by the schemas of these reports.
nlohmann::ordered_json json_of(const std::vector<EpochHead>& epochs);

}  // namespace causalctl::report::continuous
