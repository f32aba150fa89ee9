// `causalctl prof` as JSON (docs/prof-schema.json).
#include <nlohmann/json.hpp>

#include "controller/report/continuous/heads.h"
#include "controller/report/continuous/model.h"
#include "controller/report/json_number.h"

namespace causalctl::report::continuous {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

Json json_of_row(const ProfileRow& row, const ProfileTable& table) {
  Json json = {{"name", row.name}};
  if (!row.image.empty()) json["image"] = row.image;
  json["samples"] = row.samples;
  json["time_ns"] = row.time_ns;
  if (table.visits > 0) {
    json["ns_per_visit"] = static_cast<double>(row.time_ns) / static_cast<double>(table.visits);
  }
  json["share"] = json_number(row.share, &Interval::value);
  json["share_low"] = json_number(row.share, &Interval::low);
  json["share_high"] = json_number(row.share, &Interval::high);
  return json;
}

}  // namespace

std::string render_json(const ProfileTable& table) {
  Json json = {{"kind", "profile"},       {"version", kVersion}, {"host", table.host},
               {"event", table.event},    {"by", table.by},      {"samples", table.samples},
               {"time_ns", table.time_ns}};
  if (!table.per.empty()) json["per"] = {{"point", table.per}, {"visits", table.visits}};
  json["epochs"] = json_of(table.epochs);
  json["rows"] = Json::array();
  for (const ProfileRow& row : table.rows) json["rows"].push_back(json_of_row(row, table));
  json["warnings"] = table.warnings;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace causalctl::report::continuous
