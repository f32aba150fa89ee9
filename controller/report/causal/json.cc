// Renders a report as JSON: the whole model, in the structure of docs/report-format.md.
#include <nlohmann/json.hpp>

#include "controller/report/causal/finding_words.h"
#include "controller/report/causal/render.h"
#include "controller/report/json_number.h"

namespace causalctl::report {
namespace {

using Json = nlohmann::ordered_json;

// Sets the fields of a struct (base/fields.h) except those that only the log has. Fields that are
// there already keep their places.
template <Described S>
void set_fields(Json& json, const S& object) {
  for_each_row(S::fields(), [&]<class T>(const Field<S, T>& row) {
    const T& value = object.*row.member;
    if (row.has(kLogOnly)) return;
    if constexpr (Described<T>) {
      set_fields(json, value);
    } else if constexpr (std::is_integral_v<T>) {
      json[row.key] = value;
    } else {
      json[row.key] = json_number(value);
    }
  });
}

template <Described S>
Json fields_json(const S& object, Json first = Json::object()) {
  set_fields(first, object);
  return first;
}

Json curve_json(const std::vector<CurvePoint>& curve) {
  Json all = Json::array();
  for (const CurvePoint& point : curve) {
    all.push_back({{"speedup", json_number(point.speedup)},
                   {"effect", json_number(point.effect.value)},
                   {"low", json_number(point.effect.low)},
                   {"high", json_number(point.effect.high)},
                   {"experiments", point.experiments},
                   {"visits", point.visits}});
  }
  return all;
}

Json tested_json(const Tested& tested) {
  return {{"experiments", tested.experiments},
          {"sampled", tested.sampled},
          {"paused", tested.paused},
          {"samples", tested.samples}};
}

Json unit_fields(const UnitResult& unit) {
  return {{"unit", unit.unit},
          {"kind", unit.is_path   ? "path"
                   : unit.is_line ? "line"
                                  : "function"},
          {"function", unit.function},
          {"file", unit.file},
          {"line", unit.line},
          {"samples", unit.samples},
          {"sample_share", json_number(unit.sample_share)},
          {"runs", unit.runs},
          {"tested", tested_json(unit.tested)},
          {"slope", json_number(unit.slope, &Interval::value)},
          {"slope_low", json_number(unit.slope, &Interval::low)},
          {"slope_high", json_number(unit.slope, &Interval::high)},
          {"p_value", json_number(unit.p_value)},
          {"best", unit.best ? curve_json({*unit.best}).front() : Json(nullptr)},
          {"verdict", name_of(unit.verdict)},
          {"everybodys_caller", unit.everybodys_caller},
          {"within_null", unit.within_null},
          {"phase_factor", json_number(unit.phase_factor)},
          {"ceiling", json_number(unit.ceiling)},
          {"curve", curve_json(unit.curve)},
          {"summary", curve_json(unit.summary)}};
}

Json unit_json(const UnitResult& unit) {
  Json json = unit_fields(unit);
  if (unit.is_path) {
    json["callee"] = {{"samples", unit.in_callee}, {"unknown_callers", unit.unknown_callers}};
  }
  return json;
}

Json progress_json(const ProgressResult& point) {
  Json units = Json::array();
  for (const UnitResult& unit : point.units) units.push_back(unit_json(unit));
  Json json = {{"name", point.name},
               {"kind", point.latency ? "latency" : "throughput"},
               {"visits", point.visits},
               {"runs", point.runs},
               {"rate_per_s", json_number(point.rate_per_s)},
               {"counted_by", point.counted_by},
               {"visit_cost_ns", point.visit_cost_ns},
               {"null_effect", json_number(point.null_effect, &Interval::value)},
               {"null_low", json_number(point.null_effect, &Interval::low)},
               {"null_high", json_number(point.null_effect, &Interval::high)},
               {"compared_with", point.within ? "itself" : "baselines"}};
  if (const auto& pacing = point.pacing) {
    json["pacing"] = {{"pace", name_of(pacing->pace)},
                      {"held_back", json_number(pacing->paused_share)},
                      {"rate", json_number(pacing->rate.value)},
                      {"rate_low", json_number(pacing->rate.low)},
                      {"rate_high", json_number(pacing->rate.high)},
                      {"absorbed", json_number(pacing->absorbed, &Interval::value)},
                      {"absorbed_low", json_number(pacing->absorbed, &Interval::low)},
                      {"absorbed_high", json_number(pacing->absorbed, &Interval::high)}};
  }
  if (point.latency) {
    json["mean_latency_s"] = json_number(point.mean_latency_s);
    json["p50_latency_s"] = json_number(point.p50_latency_s);
    json["p99_latency_s"] = json_number(point.p99_latency_s);
  }
  json["units"] = std::move(units);
  return json;
}

Json reasons_json(const std::vector<Reason>& reasons) {
  Json all = Json::array();
  for (const Reason& reason : reasons) {
    Json json = {{"reason", name_of(reason.kind)}, {"text", words_of(reason)}};
    if (!reason.subject.empty()) json["subject"] = reason.subject;
    if (reason.effect > 0) json["effect"] = json_number(reason.effect);
    if (reason.per_speedup > 0) json["per_speedup"] = json_number(reason.per_speedup);
    if (reason.share > 0) json["share"] = json_number(reason.share);
    all.push_back(std::move(json));
  }
  return all;
}

Json helps_json(const std::vector<Help>& helps) {
  Json all = Json::array();
  for (const Help& help : helps) {
    Json json = {{"help", name_of(help.kind)}, {"text", words_of(help)}};
    if (help.time_ns > 0) json["time_ns"] = help.time_ns;
    if (help.effect > 0) json["effect"] = json_number(help.effect);
    all.push_back(std::move(json));
  }
  return all;
}

Json finding_json(const Report& report) {
  const Finding& finding = report.finding;
  Json json = {{"kind", name_of(finding.kind)}, {"statement", statement_of(report)}};
  if (!finding.point.empty()) json["progress"] = finding.point;
  if (!finding.unit.empty()) {
    json["unit"] = finding.unit;
    json["function"] = finding.function;
    json["speedup"] = json_number(finding.speedup);
    json["effect"] = json_number(finding.effect.value);
    json["low"] = json_number(finding.effect.low);
    json["high"] = json_number(finding.effect.high);
  }
  json["bound"] = json_number(finding.bound);
  json["most"] = json_number(finding.most);
  json["failed"] = reasons_json(finding.failed);
  json["reasons"] = reasons_json(finding.reasons);
  json["helps"] = helps_json(finding.helps);
  return json;
}

Json scope_json(const InScope& scope) {
  Json elsewhere = Json::array();
  for (const PlaceShare& place : scope.elsewhere) {
    elsewhere.push_back({{"place", place.place},
                         {"share", json_number(place.share)},
                         {"unclaimed", json_number(place.unclaimed)},
                         {"option", place.option}});
  }
  return {{"share", json_number(scope.share)},
          {"enough", scope.lead.empty()},
          {"elsewhere", std::move(elsewhere)}};
}

Json selfcheck_json(const SelfCheck& check) {
  return {{"null_effect", json_number(check.null_effect, &Interval::value)},
          {"null_low", json_number(check.null_effect, &Interval::low)},
          {"null_high", json_number(check.null_effect, &Interval::high)},
          {"tested", tested_json(check.tested)},
          {"delay_asked_ns", check.delay_asked_ns},
          {"delay_paid_ns", check.delay_paid_ns},
          {"stopped_calls", fields_json(check.stopped_calls)}};
}

}  // namespace

std::string render_json(const Report& report) {
  Json progress = Json::array();
  for (const ProgressResult& point : report.progress) progress.push_back(progress_json(point));
  const Json json = {
      {"version", 1},
      {"executable", report.executable},
      {"started_as", report.started_as},
      {"build_id", report.build_id},
      {"runs", report.runs},
      {"reason", name_of(report.reason)},
      {"wall_ns", report.wall_ns},
      {"experiments", report.experiments},
      {"scope", scope_json(report.scope)},
      {"finding", finding_json(report)},
      {"progress", std::move(progress)},
      {"selfcheck", selfcheck_json(report.selfcheck)},
      {"overhead",
       fields_json(report.overhead,
                   {{"slowdown", nullptr}, {"slowdown_low", nullptr}, {"slowdown_high", nullptr}})},
      {"losses",
       fields_json(report.losses, {{"records_lost", nullptr},
                                   {"experiments_discarded", report.experiments_discarded}})},
      {"target",
       {{"digest", name_of(report.digest)},
        {"oversubscribed_share", json_number(report.oversubscribed_share)},
        {"outside_share", json_number(report.foreign_share)},
        {"cores_used", json_number(report.cores_used)},
        {"beside", fmt::format("{}", fmt::join(texts_of(report.beside), " "))},
        {"peers", report.peers}}},
      {"facilities", report.facilities},
      {"warnings", texts_of(report.warnings)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace causalctl::report
