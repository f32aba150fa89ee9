#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "controller/report/compare/model.h"

namespace causalctl::report {

namespace {

Comparison sample(double effect, double half) {
  Comparison comparison;
  comparison.a = "./old";
  comparison.b = "./new\033[31m";
  comparison.pairs = 20;
  comparison.null_pairs = 8;
  comparison.fewest_pairs = 12;
  comparison.seed = 42;
  comparison.reason = "rounds";
  comparison.wall_ns = 36 * kSecond;
  ComparedMetric metric;
  metric.name = "round_done";
  metric.kind = MetricKind::throughput;
  metric.a = 100;
  metric.b = 103;
  metric.effect = Interval{effect, effect - half, effect + half};
  metric.p_value = 0.0004;
  metric.detectable = 0.008;
  metric.null = Interval{0.001, -0.004, 0.006};
  metric.drift = 0.02;
  metric.course = {1, 1.01, 0.99, 1.02};
  comparison.metrics.push_back(metric);
  metric.name = "memory";
  metric.kind = MetricKind::memory;
  metric.a = 3 * 1024 * 1024;
  metric.effect.reset();
  comparison.metrics.push_back(metric);
  comparison.runs.push_back({false, true, 3, 2 * kSecond, {0.01, std::nullopt}});
  comparison.warnings = {"something"};
  return comparison;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

TEST_CASE("what limits the first metric stands at the top, once", "[report]") {
  Comparison comparison = sample(0.03, 0.01);
  comparison.lead = "something";
  const std::string text = render_comparison_text(comparison, false);
  CHECK(has(text, "(round_done)\nsomething\n"));
  CHECK_FALSE(has(text, "warning      something"));
}

TEST_CASE("a metric that could not be measured is called unknown", "[report]") {
  Comparison comparison = sample(0.03, 0.01);
  comparison.metrics[0].a.reset();
  comparison.metrics[0].b.reset();
  comparison.metrics[0].effect.reset();
  CHECK(first_line(render_comparison_text(comparison, false)) ==
        "round_done is not known: the warnings say why");
}

TEST_CASE("the finding: less time, more time, or none and what would have been seen", "[report]") {
  CHECK(first_line(render_comparison_text(sample(0.031, 0.005), false)) ==
        "B needs 3.1 % [2.6, 3.6] less time than A (round_done)");
  CHECK(first_line(render_comparison_text(sample(-0.031, 0.005), false)) ==
        "B needs 3.1 % [2.6, 3.6] more time than A (round_done)");
  CHECK(first_line(render_comparison_text(sample(0.001, 0.005), false)) ==
        "No difference was seen: 0.1 % [-0.4, 0.6] (round_done); 0.80 % or more would have been "
        "found in 80 of 100 such comparisons");
}

TEST_CASE("the first line tells of all metrics that differ", "[report]") {
  Comparison comparison = sample(0.001, 0.005);
  ComparedMetric cpu = comparison.metrics[0];
  cpu.name = "cpu";
  cpu.kind = MetricKind::cpu;
  cpu.effect = Interval{0.23, 0.2, 0.26};
  comparison.metrics.push_back(cpu);
  CHECK(first_line(render_comparison_text(comparison, false)) ==
        "B needs 23.0 % [20.0, 26.0] less CPU time than A. No difference was seen: 0.1 % [-0.4, "
        "0.6] (round_done); 0.80 % or more would have been found in 80 of 100 such comparisons");
  comparison.metrics[0].effect = Interval{0.031, 0.026, 0.036};
  comparison.metrics[1].effect = Interval{-0.5, -0.6, -0.4};
  CHECK(first_line(render_comparison_text(comparison, false)) ==
        "B needs 3.1 % [2.6, 3.6] less time than A (round_done). B needs 50.0 % [40.0, 60.0] more "
        "memory than A, 23.0 % [20.0, 26.0] less CPU time than A");

  SECTION("but of none that may be chance, or that nobody cares for") {
    comparison.metrics[1].effect = Interval{-0.004, -0.006, -0.002};  // too little
    comparison.metrics[2].p_value = 0.03;                             // one of two
    CHECK(first_line(render_comparison_text(comparison, false)) ==
          "B needs 3.1 % [2.6, 3.6] less time than A (round_done)");
    comparison.metrics[2].p_value = 0.02;
    CHECK(has(first_line(render_comparison_text(comparison, false)), "less CPU time than A"));
    comparison.metrics[2].p_value.reset();  // after interim analyses
    CHECK_FALSE(has(first_line(render_comparison_text(comparison, false)), "CPU"));
    comparison.metrics[2].p_value = 0.0001;
    comparison.metrics[2].effect = Interval{0.23, -0.01, 0.4};
    CHECK_FALSE(has(first_line(render_comparison_text(comparison, false)), "CPU"));
  }
}

TEST_CASE("what is twice as much or more is told as a multiple", "[report]") {
  const std::string text = render_comparison_text(sample(-80.358, 2), false);
  CHECK(first_line(text) == "B needs 81.4 times [79.4, 83.4] the time of A (round_done)");
  CHECK_FALSE(has(text, "-80"));
  CHECK(first_line(render_comparison_text(sample(-1233.5, 2), false)) ==
        "B needs 1,235 times [1,233, 1,237] the time of A (round_done)");
  CHECK(has(render_comparison_text(sample(-0.99, 0.005), false), "99.0 % [98.5, 99.5] more time"));
}

TEST_CASE("the text shows the null, the drift, warnings, and nothing that a terminal obeys",
          "[report]") {
  const std::string text = render_comparison_text(sample(0.031, 0.005), false);
  INFO(text);
  CHECK(has(text, "0.1 % [-0.4, 0.6]"));
  CHECK(has(text, "after 8 of A against A, in 36.0 s"));
  CHECK(has(text, "2.0 % more time from the first run to the last"));
  CHECK(has(text, "warning      something"));
  CHECK(has(text, "100 /s"));
  CHECK(has(text, "3 MiB"));
  CHECK_FALSE(has(text, "\033"));
  CHECK(has(render_comparison_text(sample(0.031, 0.005), true), "\033[1m"));
}

TEST_CASE("prediction and gate are said in words", "[report]") {
  Comparison comparison = sample(0.031, 0.005);
  Prediction prediction;
  prediction.unit = "a";
  prediction.speedup = 0.5;
  prediction.predicted = {0.05, 0.04, 0.06};
  prediction.achieved = {0.031, 0.026, 0.036};
  prediction.difference = {-0.019, -0.03, -0.008};
  comparison.prediction = prediction;
  comparison.gate = Gate{0.02, Gate::Verdict::failed};
  std::string text = render_comparison_text(comparison, false);
  CHECK(has(text, "predicted    5.0 % [4.0, 6.0] by a 50 % faster"));
  CHECK(has(text, "they do not agree: achieved less predicted is -1.9 % [-3.0, -0.8]"));
  CHECK(has(text, "FAILED: B is slower than A by 2.00 % or more"));
  comparison.prediction->agrees = true;
  comparison.gate->verdict = Gate::Verdict::undecided;
  text = render_comparison_text(comparison, false);
  CHECK(has(text, "they agree"));
  CHECK(has(text, "undecided"));
}

TEST_CASE("too few pairs are said to be too few", "[report]") {
  Comparison comparison = sample(0, 0);
  comparison.metrics[0].effect.reset();
  CHECK(has(render_comparison_text(comparison, false), "the 20 pairs differ too much"));
  comparison.pairs = 8;
  CHECK(has(render_comparison_text(comparison, false),
            "not enough pairs for an interval (8; at least 12 are needed)"));
  CHECK(has(render_comparison_text(Comparison{}, false), "Nothing was measured"));
}

TEST_CASE("json holds the whole model, null where there is nothing", "[report]") {
  const auto json = nlohmann::json::parse(render_comparison_json(sample(0.031, 0.005)));
  CHECK(json["version"] == 1);
  CHECK(json["pairs"] == 20);
  CHECK(json["interval"] == "bootstrap");
  CHECK(json["prediction"].is_null());
  const auto& metric = json["metrics"][0];
  CHECK(metric["kind"] == "throughput");
  CHECK(metric["effect"] == 0.031);
  CHECK(metric["low"] == 0.026);
  CHECK(metric["null_high"] == 0.006);
  CHECK(metric["detectable"] == 0.008);
  CHECK(json["metrics"][1]["effect"].is_null());
  CHECK(json["runs"][0]["side"] == "b");
  CHECK(json["runs"][0]["values"][1].is_null());
}

TEST_CASE("csv has a row per run, and quotes what needs it", "[report]") {
  Comparison comparison = sample(0.031, 0.005);
  comparison.metrics[0].name = "a,\"b\"";
  CHECK(render_comparison_csv(comparison) ==
        "phase,block,side,start_s,\"throughput:a,\"\"b\"\"\",memory:memory\n"
        "pairs,3,b,2.000000,0.01,\n");
}

}  // namespace causalctl::report
