#include "controller/report/continuous/heads.h"

#include <nlohmann/json.hpp>

namespace causalctl::report::continuous {

void add_epochs(const std::string& host, const std::vector<EpochHead>& epochs, Text& text) {
  Nanoseconds recorded_ns = 0;
  for (const EpochHead& each : epochs) recorded_ns += each.recorded_ns;
  text.line("{}: {} to {}, {} s recorded{}", printable(host), epochs.front().begin,
            epochs.back().end, seconds(recorded_ns),
            epochs.size() == 1 ? "" : fmt::format(" in {} epochs", epochs.size()));
}

nlohmann::ordered_json json_of(const std::vector<EpochHead>& epochs) {
  auto json = nlohmann::ordered_json::array();
  for (const EpochHead& epoch : epochs) {
    json.push_back({{"id", epoch.id},
                    {"name", epoch.name},
                    {"begin", epoch.begin},
                    {"end", epoch.end},
                    {"recorded_ns", epoch.recorded_ns}});
  }
  return json;
}

}  // namespace causalctl::report::continuous
