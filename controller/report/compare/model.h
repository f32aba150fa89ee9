// What the report of an A/B comparison shows, as plain structs. The JSON report shows the whole
// model.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/fields.h"
#include "controller/report/causal/model.h"

namespace causalctl::report {

// What is measured of a run; smaller is better for all. Throughput is in seconds per visit, latency
// and wall in seconds, memory in bytes. CPU seconds and the number of switches are per unit of work
// if progress is counted.
enum class MetricKind : std::uint8_t { throughput, latency, wall, cpu, memory, switches };
constexpr auto names_of(MetricKind) {
  return std::array<std::string_view, 6>{"throughput", "latency", "wall",
                                         "cpu",        "memory",  "switches"};
}

struct ComparedMetric {
  std::string name;
  MetricKind kind = MetricKind::wall;
  // Typical values of the sides, for throughput in visits a second; nullopt if not measured.
  std::optional<double> a, b;
  std::optional<Interval> effect;    // by how much less B needs; nullopt if data is insufficient
  std::optional<double> p_value;     // Mann-Whitney U; nullopt also after interim analyses
  std::optional<double> detectable;  // smallest effect found in 80 of 100 such comparisons
  std::optional<Interval> null;      // A compared with A
  std::optional<double> drift;       // relative change from the first run to the last
  std::vector<double> course;        // each run divided by the mean of its side, in time order
};

struct AbRun {
  bool null = false;
  bool b = false;  // whether it plays side B; in a null run both play A
  std::size_t block = 0;
  Nanoseconds start_ns = 0;                   // since the start of the comparison
  std::vector<std::optional<double>> values;  // in the order of Comparison::metrics
};

struct Prediction {
  std::string point;
  std::string unit;
  double speedup = 0;
  Interval predicted;
  Interval achieved;
  Interval difference;  // achieved - predicted
  bool agrees = false;  // the difference's interval contains zero
};

// The outcome of --fail-if-slower.
struct Gate {
  enum class Verdict : std::uint8_t { passed, failed, undecided };
  double limit = 0;  // 0.02 means 2 % slower
  Verdict verdict = Verdict::undecided;
};

constexpr auto names_of(Gate::Verdict) {
  return std::array<std::string_view, 3>{"passed", "failed", "undecided"};
}

// Runs that failed (--allow-failures), of all runs of each program, those of A against A included.
struct AbFailures {
  std::size_t a = 0, a_runs = 0;
  std::size_t b = 0, b_runs = 0;
  double p_value = 1;  // Fisher's exact test
};

struct Comparison {
  std::string a, b;  // names of the sides
  std::size_t pairs = 0;
  std::size_t null_pairs = 0;
  std::size_t fewest_pairs = 0;  // an interval needs at least this many
  std::uint64_t seed = 0;
  bool sequential = false;  // intervals hold at every interim analysis, not only at the end
  std::string reason;       // rounds | certain | interrupted | failed
  Nanoseconds wall_ns = 0;
  std::vector<ComparedMetric> metrics;  // the first one decides
  std::optional<Prediction> prediction;
  std::optional<Gate> gate;
  std::optional<AbFailures> failures;  // nullopt: none
  std::vector<AbRun> runs;
  std::vector<std::string> warnings;
  std::string lead;  // the warning that stands at the top, because it is about the first metric
};

std::string render_comparison_text(const Comparison& comparison, bool color);
std::string render_comparison_json(const Comparison& comparison);
std::string render_comparison_csv(const Comparison& comparison);  // one row per run

}  // namespace causalctl::report
