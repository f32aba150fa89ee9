// `causalctl stalls` as JSON (docs/stalls-schema.json).
#include <nlohmann/json.hpp>

#include "controller/report/continuous/heads.h"
#include "controller/report/continuous/stalls_model.h"
#include "controller/report/json_number.h"

namespace causalctl::report::continuous {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kStallsVersion = 1;

Json json_of(const StallRow& row) {
  Json json = {{"function", row.function},
               {"image", row.image},
               {"address", row.address},
               {"text", row.text}};
  if (!row.line.empty()) json["line"] = row.line;
  json["time_ns"] = json_number(row.time_ns);
  json["share"] = json_number(row.share, &Interval::value);
  json["share_low"] = json_number(row.share, &Interval::low);
  json["share_high"] = json_number(row.share, &Interval::high);
  if (row.ns_each) json["ns_each"] = json_number(row.ns_each);
  json["culprits"] = row.culprits;
  if (row.effect) {
    json["effect"] = {{"unit", row.effect->unit},
                      {"of_unit", json_number(row.effect->of_unit.value)},
                      {"gain", json_number(row.effect->gain.value)},
                      {"gain_low", json_number(row.effect->gain.low)},
                      {"gain_high", json_number(row.effect->gain.high)}};
  }
  return json;
}

}  // namespace

std::string render_json(const StallTable& table) {
  Json json = {{"kind", "stalls"},
               {"version", kStallsVersion},
               {"host", table.host},
               {"event", table.event},
               {"samples", table.samples},
               {"time_ns", table.time_ns},
               {"analysed", json_number(table.analysed)},
               {"counted", json_number(table.counted)}};
  if (table.ghz > 0) json["ghz"] = json_number(table.ghz);
  json["epochs"] = json_of(table.epochs);
  if (table.effects) {
    json["effects"] = {{"program", table.effects->program},
                       {"point", table.effects->point},
                       {"certain", json_number(table.effects->certain)},
                       {"uncertain", json_number(table.effects->uncertain)},
                       {"elsewhere", json_number(table.effects->elsewhere)},
                       {"notes", table.effects->notes}};
  }
  json["rows"] = Json::array();
  for (const StallRow& row : table.rows) json["rows"].push_back(json_of(row));
  json["warnings"] = table.warnings;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace causalctl::report::continuous
