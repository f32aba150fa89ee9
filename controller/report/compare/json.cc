// Renders a comparison as JSON, in the structure of docs/ab.md, and as CSV with one row per run.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "controller/report/compare/model.h"
#include "controller/report/json_number.h"

namespace causalctl::report {
namespace {

using Json = nlohmann::ordered_json;

Json metric_json(const ComparedMetric& metric) {
  Json course = Json::array();
  for (const double value : metric.course) course.push_back(json_number(value));
  return {{"name", metric.name},
          {"kind", name_of(metric.kind)},
          {"a", json_number(metric.a)},
          {"b", json_number(metric.b)},
          {"effect", json_number(metric.effect, &Interval::value)},
          {"low", json_number(metric.effect, &Interval::low)},
          {"high", json_number(metric.effect, &Interval::high)},
          {"p_value", json_number(metric.p_value)},
          {"detectable", json_number(metric.detectable)},
          {"null_effect", json_number(metric.null, &Interval::value)},
          {"null_low", json_number(metric.null, &Interval::low)},
          {"null_high", json_number(metric.null, &Interval::high)},
          {"drift", json_number(metric.drift)},
          {"course", std::move(course)}};
}

Json prediction_json(const Prediction& prediction) {
  return {{"point", prediction.point},
          {"unit", prediction.unit},
          {"speedup", json_number(prediction.speedup)},
          {"effect", json_number(prediction.predicted.value)},
          {"low", json_number(prediction.predicted.low)},
          {"high", json_number(prediction.predicted.high)},
          {"achieved", json_number(prediction.achieved.value)},
          {"achieved_low", json_number(prediction.achieved.low)},
          {"achieved_high", json_number(prediction.achieved.high)},
          {"difference", json_number(prediction.difference.value)},
          {"difference_low", json_number(prediction.difference.low)},
          {"difference_high", json_number(prediction.difference.high)},
          {"agrees", prediction.agrees}};
}

Json gate_json(const Gate& gate) {
  return {{"fail_if_slower", json_number(gate.limit)}, {"verdict", name_of(gate.verdict)}};
}

Json failures_json(const AbFailures& failures) {
  return {{"a", failures.a},
          {"a_runs", failures.a_runs},
          {"b", failures.b},
          {"b_runs", failures.b_runs},
          {"p_value", json_number(failures.p_value)}};
}

Json run_json(const AbRun& run) {
  Json values = Json::array();
  for (const auto& value : run.values) values.push_back(json_number(value));
  return {{"phase", run.null ? "null" : "pairs"},
          {"block", run.block},
          {"side", run.b ? "b" : "a"},
          {"start_ns", run.start_ns},
          {"values", std::move(values)}};
}

std::string csv_word(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

std::string render_comparison_json(const Comparison& comparison) {
  Json metrics = Json::array();
  for (const ComparedMetric& metric : comparison.metrics) metrics.push_back(metric_json(metric));
  Json runs = Json::array();
  for (const AbRun& run : comparison.runs) runs.push_back(run_json(run));
  const Json json = {
      {"version", 1},
      {"a", comparison.a},
      {"b", comparison.b},
      {"pairs", comparison.pairs},
      {"null_pairs", comparison.null_pairs},
      {"fewest_pairs", comparison.fewest_pairs},
      {"seed", comparison.seed},
      {"interval", comparison.sequential ? "sequential" : "bootstrap"},
      {"reason", comparison.reason},
      {"wall_ns", comparison.wall_ns},
      {"metrics", std::move(metrics)},
      {"prediction", comparison.prediction ? prediction_json(*comparison.prediction) : Json()},
      {"gate", comparison.gate ? gate_json(*comparison.gate) : Json()},
      {"failures", comparison.failures ? failures_json(*comparison.failures) : Json()},
      {"runs", std::move(runs)},
      {"warnings", comparison.warnings}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string render_comparison_csv(const Comparison& comparison) {
  std::string text = "phase,block,side,start_s";
  for (const ComparedMetric& metric : comparison.metrics) {
    text += ',' + csv_word(fmt::format("{}:{}", name_of(metric.kind), metric.name));
  }
  text += '\n';
  for (const AbRun& run : comparison.runs) {
    text += fmt::format("{},{},{},{:.6f}", run.null ? "null" : "pairs", run.block,
                        run.b ? "b" : "a", static_cast<double>(run.start_ns) / kSecond);
    for (const auto& value : run.values) {
      text += value ? fmt::format(",{:.9g}", *value) : std::string(",");
    }
    text += '\n';
  }
  return text;
}

}  // namespace causalctl::report
