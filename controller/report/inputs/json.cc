// The complete profile as JSON (docs/inputs.md, docs/inputs-schema.json). The page is made of it,
// too.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "controller/base/fields.h"
#include "controller/report/inputs/render.h"
#include "controller/report/inputs/words.h"
#include "controller/report/json_number.h"

namespace causalctl::report::inputs {
namespace {

using Json = nlohmann::ordered_json;

Json interval_json(const Interval& interval) {
  return {{"value", json_number(interval.value)},
          {"low", json_number(interval.low)},
          {"high", json_number(interval.high)}};
}

Json by_cost(const std::array<double, kCostUnits>& values) {
  Json json;
  for (std::size_t unit = 0; unit < kCostUnits; ++unit) {
    json[std::string(name_of_cost(static_cast<CostUnit>(unit)))] = json_number(values[unit]);
  }
  return json;
}

Json growth_json(const Growth& growth, Metric metric, CostUnit unit, Of of) {
  Json json = {{"metric", name_of_metric(metric)},
               {"cost", name_of_cost(unit)},
               {"of", name_of(of)},
               {"verdict", name_of(growth.verdict)},
               {"words", growth_words(growth)},
               {"sizes", growth.sizes},
               {"smallest", json_number(growth.smallest)},
               {"largest", json_number(growth.largest)}};
  if (growth.verdict == Verdict::too_few) return json;
  json["shape"] = growth.shape;
  json["exponent"] = interval_json(growth.exponent);
  json["line"] = Json::array();
  for (const LinePoint& point : growth.line) {
    json["line"].push_back({json_number(point.size), json_number(point.cost),
                            json_number(point.low), json_number(point.high)});
  }
  return json;
}

Json costs_json(const std::array<causalctl::inputs::Cost, kCostUnits>& costs) {
  Json json;
  for (std::size_t unit = 0; unit < kCostUnits; ++unit) {
    const causalctl::inputs::Cost& cost = costs[unit];
    json[std::string(name_of_cost(static_cast<CostUnit>(unit)))] = {
        {"min", cost.min},
        {"max", cost.max},
        {"sum", cost.sum},
        {"sum_of_squares", json_number(cost.sum_of_squares)}};
  }
  return json;
}

Json rows_json(const std::vector<SizeRow>& rows) {
  Json json = Json::array();
  for (const SizeRow& row : rows) {
    json.push_back({{"size", row.size},
                    {"calls", row.calls},
                    {"cost", costs_json(row.cost)},
                    {"own", costs_json(row.own)},
                    {"external", row.external},
                    {"thread", row.thread}});
  }
  return json;
}

Json routine_json(const Profile& profile, const Routine& routine) {
  Json json = {{"name", routine.name},
               {"module", routine.module},
               {"build_id", routine.build_id},
               {"offset", routine.offset}};
  if (!routine.file.empty()) {
    json["file"] = routine.file;
    json["line"] = routine.line;
  }
  json["calls"] = routine.calls;
  json["share"] = by_cost(routine.share);
  json["own_share"] = by_cost(routine.own_share);
  json["superlinear"] = is_superlinear(profile, routine);
  json["external_share"] = json_number(routine.external_share);
  json["thread_share"] = json_number(routine.thread_share);
  json["richness"] = json_number(routine.richness);
  json["volume"] = json_number(routine.volume);
  if (!routine.disagreement.empty()) json["disagreement"] = routine.disagreement;
  json["growth"] = Json::array();
  for (const Metric metric : {Metric::trms, Metric::rms}) {
    for (const CostUnit unit : {CostUnit::blocks, CostUnit::instructions}) {
      if (unit != profile.cost && !profile.has_both_costs) continue;
      for (const Of of : {Of::mean, Of::worst, Of::own}) {
        json["growth"].push_back(growth_json(routine.of(metric, unit, of), metric, unit, of));
      }
    }
  }
  json["threads"] = Json::array();
  for (const ThreadPart& thread : routine.threads) {
    json["threads"].push_back({{"run", thread.run},
                               {"number", thread.number},
                               {"name", thread.name},
                               {"calls", thread.calls},
                               {"share", by_cost(thread.share)}});
  }
  json["rows"] = {{"trms", rows_json(routine.rows[static_cast<std::size_t>(Metric::trms)])},
                  {"rms", rows_json(routine.rows[static_cast<std::size_t>(Metric::rms)])}};
  return json;
}

}  // namespace

std::string render_json(const Profile& profile) {
  Json json = {{"version", 1},
               {"kind", "inputs"},
               {"verdict", verdict_words(profile)},
               {"command", profile.command},
               {"host", profile.host},
               {"runs", profile.runs},
               {"incomplete", profile.incomplete},
               {"started_ns", profile.started_ns},
               {"cell_bytes", profile.cell_bytes},
               {"aprof_compatible", profile.aprof_compatible},
               {"metric", name_of_metric(profile.metric)},
               {"cost", name_of_cost(profile.cost)},
               {"total", {{"blocks", profile.total[0]}, {"instructions", profile.total[1]}}},
               {"volume", json_number(profile.volume)}};
  json["forecast"] = nullptr;
  if (profile.forecast.is_known) {
    json["forecast"] = {{"times", interval_json(profile.forecast.times)},
                        {"share", json_number(profile.forecast.share)},
                        {"words", forecast_words(profile)}};
    if (!profile.forecast.routine.empty()) json["forecast"]["routine"] = profile.forecast.routine;
  }
  json["notes"] = profile.notes;
  json["warnings"] = profile.warnings;
  json["routines"] = Json::array();
  for (const Routine& routine : profile.routines) {
    json["routines"].push_back(routine_json(profile, routine));
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace causalctl::report::inputs
