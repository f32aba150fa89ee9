// What the report of an A/B comparison shows, as plain structs; its JSON is this model, complete.
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

// Of a run, smaller is better for all: seconds (throughput: per visit; latency; wall; cpu: per unit
// of work where progress is counted), bytes (memory), a number (switches: likewise per unit).
enum class MetricKind : std::uint8_t { throughput, latency, wall, cpu, memory, switches };
constexpr auto names_of(MetricKind) {
  return std::array<std::string_view, 6>{"throughput", "latency", "wall",
                                         "cpu",        "memory",  "switches"};
}

struct ComparedMetric {
  std::string name;
  MetricKind kind = MetricKind::wall;
  // Typical values of the sides; throughput: visits a second. nullopt: not measured.
  std::optional<double> a, b;
  std::optional<Interval> effect;    // by how much less B needs; nullopt: not enough data
  std::optional<double> p_value;     // Mann-Whitney U; nullopt also where many looks were taken
  std::optional<double> detectable;  // smallest effect found in 80 of 100 such comparisons
  std::optional<Interval> null;      // A against A
  std::optional<double> drift;       // relative change from the first run to the last
  std::vector<double> course;        // each run over the mean of its side, in time order
};

struct AbRun {
  bool null = false;
  bool b = false;  // its role in the comparison; of a null run both are A
  std::size_t block = 0;
  Nanoseconds start_ns = 0;                   // since the start of the comparison
  std::vector<std::optional<double>> values;  // as Comparison::metrics, units as in MetricKind
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

// --fail-if-slower
struct Gate {
  enum class Verdict : std::uint8_t { passed, failed, undecided };
  double limit = 0;  // 0.02: 2 % slower
  Verdict verdict = Verdict::undecided;
};

constexpr auto names_of(Gate::Verdict) {
  return std::array<std::string_view, 3>{"passed", "failed", "undecided"};
}

struct Comparison {
  std::string a, b;  // what was compared
  std::size_t pairs = 0;
  std::size_t null_pairs = 0;
  std::size_t fewest_pairs = 0;  // with which there may be an interval
  std::uint64_t seed = 0;
  bool sequential = false;  // intervals hold at every look, not only at the end
  std::string reason;       // rounds | certain | interrupted | failed
  Nanoseconds wall_ns = 0;
  std::vector<ComparedMetric> metrics;  // the first is the one that decides
  std::optional<Prediction> prediction;
  std::optional<Gate> gate;
  std::vector<AbRun> runs;
  std::vector<std::string> warnings;
};

std::string render_comparison_text(const Comparison& comparison, bool color);
std::string render_comparison_json(const Comparison& comparison);
std::string render_comparison_csv(const Comparison& comparison);  // one row per run

}  // namespace causalctl::report
