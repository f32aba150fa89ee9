// Report → JSON: the whole model, in the structure of docs/report-format.md.
#include <nlohmann/json.hpp>

#include "controller/report/causal/render.h"
#include "controller/report/json_number.h"

namespace causalctl::report {
namespace {

using Json = nlohmann::ordered_json;

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

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::optimise:
      return "optimise";
    case Verdict::no_effect:
      return "no-effect";
    case Verdict::contention:
      return "contention";
    case Verdict::not_enough_data:
      return "not-enough-data";
  }
  return "";
}

Json tested_json(const Tested& tested) {
  return {{"experiments", tested.experiments},
          {"sampled", tested.sampled},
          {"paused", tested.paused},
          {"samples", tested.samples}};
}

Json unit_json(const UnitResult& unit) {
  return {{"unit", unit.unit},
          {"kind", unit.is_line ? "line" : "function"},
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
          {"verdict", verdict_name(unit.verdict)},
          {"everybodys_caller", unit.everybodys_caller},
          {"within_null", unit.within_null},
          {"phase_factor", json_number(unit.phase_factor)},
          {"ceiling", json_number(unit.ceiling)},
          {"curve", curve_json(unit.curve)},
          {"summary", curve_json(unit.summary)}};
}

const char* pace_name(Pace pace) {
  switch (pace) {
    case Pace::of_program:
      return "program";
    case Pace::own:
      return "own";
    case Pace::unknown:
      return "unknown";
  }
  return "";
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
               {"null_high", json_number(point.null_effect, &Interval::high)}};
  if (const auto& pacing = point.pacing) {
    json["pacing"] = {{"pace", pace_name(pacing->pace)},
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

Json selfcheck_json(const SelfCheck& check) {
  return {{"null_effect", json_number(check.null_effect, &Interval::value)},
          {"null_low", json_number(check.null_effect, &Interval::low)},
          {"null_high", json_number(check.null_effect, &Interval::high)},
          {"tested", tested_json(check.tested)},
          {"delay_asked_ns", check.delay_asked_ns},
          {"delay_paid_ns", check.delay_paid_ns},
          {"stopped_calls",
           {{"continued", check.stopped_calls.continued},
            {"repeated", check.stopped_calls.repeated},
            {"broken", check.stopped_calls.broken},
            {"shortened", check.stopped_calls.shortened}}}};
}

}  // namespace

std::string render_json(const Report& report) {
  Json progress = Json::array();
  for (const ProgressResult& point : report.progress) progress.push_back(progress_json(point));
  const Json json = {{"version", 1},
                     {"executable", report.executable},
                     {"started_as", report.started_as},
                     {"build_id", report.build_id},
                     {"runs", report.runs},
                     {"reason", report.reason},
                     {"wall_ns", report.wall_ns},
                     {"experiments", report.experiments},
                     {"progress", std::move(progress)},
                     {"selfcheck", selfcheck_json(report.selfcheck)},
                     {"overhead",
                      {{"slowdown", json_number(report.slowdown)},
                       {"slowdown_low", json_number(report.slowdown_low)},
                       {"slowdown_high", json_number(report.slowdown_high)},
                       {"controller_cpu_share", json_number(report.controller_cpu_share)},
                       {"attach_stop_ns", report.attach_stop_ns},
                       {"sample_to_pause_p50_ns", report.sample_to_pause_p50_ns},
                       {"sample_to_pause_p99_ns", report.sample_to_pause_p99_ns},
                       {"pause_cost_ns", report.pause_cost_ns},
                       {"pause_cost_error_ns", report.pause_cost_error_ns},
                       {"period_ns", report.period_ns}}},
                     {"losses",
                      {{"records_lost", report.records_lost},
                       {"experiments_discarded", report.experiments_discarded},
                       {"stacks_truncated", report.stacks_truncated},
                       {"samples_unknown", report.samples_unknown},
                       {"samples_total", report.samples_total},
                       {"throttles", report.throttles},
                       {"stacks_copied_in_part", report.stacks_copied_in_part}}},
                     {"target",
                      {{"digest", report.digest},
                       {"oversubscribed_share", json_number(report.oversubscribed_share)},
                       {"outside_share", json_number(report.foreign_share)},
                       {"beside", report.beside},
                       {"peers", report.peers}}},
                     {"facilities", report.facilities},
                     {"warnings", report.warnings}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace causalctl::report
