// Comparison → JSON, the structure of docs/ab.md, and → CSV, a row per run.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "controller/report/comparison.h"

namespace causalctl::report {
namespace {

using Json = nlohmann::ordered_json;

Json number(const std::optional<double>& value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  if (*value == 0) return 0.0;
  // Six digits: more is noise.
  const double scale = std::pow(10, 5 - std::floor(std::log10(std::abs(*value))));
  const double rounded = std::round(*value * scale) / scale;
  return std::isfinite(rounded) ? rounded : *value;
}

Json part(const std::optional<Interval>& interval, double Interval::*which) {
  return interval ? number((*interval).*which) : Json(nullptr);
}

Json metric_json(const ComparedMetric& metric) {
  Json course = Json::array();
  for (const double value : metric.course) course.push_back(number(value));
  return {{"name", metric.name},
          {"kind", metric_kind_name(metric.kind)},
          {"a", number(metric.a)},
          {"b", number(metric.b)},
          {"effect", part(metric.effect, &Interval::value)},
          {"low", part(metric.effect, &Interval::low)},
          {"high", part(metric.effect, &Interval::high)},
          {"p_value", number(metric.p_value)},
          {"detectable", number(metric.detectable)},
          {"null_effect", part(metric.null, &Interval::value)},
          {"null_low", part(metric.null, &Interval::low)},
          {"null_high", part(metric.null, &Interval::high)},
          {"drift", number(metric.drift)},
          {"course", std::move(course)}};
}

Json prediction_json(const Prediction& prediction) {
  return {{"point", prediction.point},
          {"unit", prediction.unit},
          {"speedup", number(prediction.speedup)},
          {"effect", number(prediction.predicted.value)},
          {"low", number(prediction.predicted.low)},
          {"high", number(prediction.predicted.high)},
          {"achieved", number(prediction.achieved.value)},
          {"achieved_low", number(prediction.achieved.low)},
          {"achieved_high", number(prediction.achieved.high)},
          {"difference", number(prediction.difference.value)},
          {"difference_low", number(prediction.difference.low)},
          {"difference_high", number(prediction.difference.high)},
          {"agrees", prediction.agrees}};
}

Json gate_json(const Gate& gate) {
  static constexpr const char* kVerdicts[] = {"passed", "failed", "undecided"};
  return {{"fail_if_slower", number(gate.limit)},
          {"verdict", kVerdicts[static_cast<std::size_t>(gate.verdict)]}};
}

Json run_json(const AbRun& run) {
  Json values = Json::array();
  for (const auto& value : run.values) values.push_back(number(value));
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

std::string metric_kind_name(MetricKind kind) {
  static constexpr const char* kNames[] = {"throughput", "latency", "wall",
                                           "cpu",        "memory",  "switches"};
  return kNames[static_cast<std::size_t>(kind)];
}

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
      {"seed", comparison.seed},
      {"interval", comparison.sequential ? "sequential" : "bootstrap"},
      {"reason", comparison.reason},
      {"wall_ns", comparison.wall_ns},
      {"metrics", std::move(metrics)},
      {"prediction", comparison.prediction ? prediction_json(*comparison.prediction) : Json()},
      {"gate", comparison.gate ? gate_json(*comparison.gate) : Json()},
      {"runs", std::move(runs)},
      {"warnings", comparison.warnings}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string render_comparison_csv(const Comparison& comparison) {
  std::string text = "phase,block,side,start_s";
  for (const ComparedMetric& metric : comparison.metrics) {
    text += ',' + csv_word(fmt::format("{}:{}", metric_kind_name(metric.kind), metric.name));
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
