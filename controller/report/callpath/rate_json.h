// The numbers of a CallRate as JSON, the same in the report and on the page.
#pragma once

#include <nlohmann/json.hpp>
#include <utility>

#include "controller/report/callpath/model.h"

namespace causalctl::report::callpath {

inline nlohmann::ordered_json numbers_of(const CallRate& rate) {
  auto longer = nlohmann::ordered_json::array();
  for (const LongerCalls& each : rate.longer) {
    longer.push_back({{"than_ns", each.than_ns}, {"low", each.low}, {"high", each.high}});
  }
  return {{"per_second", rate.per_second},
          {"low", rate.low},
          {"high", rate.high},
          {"longer_than_ns", rate.longer_than_ns},
          {"mean_ns", rate.mean_ns},
          {"mean_low_ns", rate.shortest_mean_ns},
          {"mean_high_ns", rate.longest_mean_ns},
          {"longer", std::move(longer)},
          {"stopped", rate.stopped}};
}

}  // namespace causalctl::report::callpath
