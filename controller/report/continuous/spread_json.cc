// `causalctl stats` as JSON (docs/stats-schema.json).
#include <nlohmann/json.hpp>

#include "controller/report/continuous/model.h"
#include "controller/report/json_number.h"

namespace causalctl::report::continuous {
namespace {

nlohmann::ordered_json json_of_spread(const SpreadRow& row) {
  return {{"name", row.name},
          {"image", row.image},
          {"range", row.range},
          {"sum_ns", row.sum},
          {"share", row.share},
          {"mean_ns", row.mean.value},
          {"mean_low_ns", row.mean.low},
          {"mean_high_ns", row.mean.high},
          {"deviation_ns", row.deviation},
          {"min_ns", row.least},
          {"max_ns", row.most},
          {"adjusted_p_value", row.adjusted_p},
          {"differs", row.differs}};
}

}  // namespace

std::string render_json(const SpreadTable& table) {
  nlohmann::ordered_json json = {
      {"kind", "stats"}, {"version", 1}, {"per", table.per.empty() ? "second" : table.per}};
  json["sets"] = nlohmann::ordered_json::array();
  for (const SampleSetHead& set : table.sets) {
    json["sets"].push_back({{"name", set.name},
                            {"samples", set.samples},
                            {"time_ns", set.time_ns},
                            {"recorded_ns", set.recorded_ns},
                            {"units", set.units}});
  }
  json["rows"] = nlohmann::ordered_json::array();
  for (const SpreadRow& row : table.rows) json["rows"].push_back(json_of_spread(row));
  json["warnings"] = table.warnings;
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace causalctl::report::continuous
