// What a report of input sizes shows, as plain structs. Every format renders this model. Rows and
// costs are those of the recording (controller/inputs/record/recording.h), with the runs and
// threads of a routine added up.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/interval.h"
#include "controller/inputs/record/recording.h"

namespace causalctl::report::inputs {

using causalctl::inputs::CostUnit;
using causalctl::inputs::kCostUnits;
using causalctl::inputs::kMetrics;
using causalctl::inputs::Metric;
using causalctl::inputs::SizeRow;

// How a cost grows with the input size.
enum class Verdict : std::uint8_t {
  too_few,  // distinct sizes, or sizes that are too much alike
  unclear,  // more than one of the others is possible
  constant,
  sublinear,
  linear,
  near_linear,   // linear or n log n
  linearithmic,  // n log n
  superlinear,
};
constexpr auto names_of(Verdict) {
  return std::array<std::string_view, 8>{"too few sizes", "unclear",    "constant",
                                         "sublinear",     "linear",     "linear or n log n",
                                         "n log n",       "superlinear"};
}
inline bool is_certain(Verdict verdict) { return verdict > Verdict::unclear; }

// What a verdict needs.
inline constexpr std::size_t kFewestSizes = 8;
inline constexpr double kNarrowestRange = 10;  // of the largest size to the smallest

// Which cost of the activations of one size is fitted.
enum class Of : std::uint8_t { mean, worst, own };  // own: the mean without what was called
constexpr auto names_of(Of) { return std::array<std::string_view, 3>{"mean", "worst", "own"}; }
inline constexpr std::size_t kFits = 3;

struct LinePoint {
  double size = 0;
  double cost = 0;
  double low = 0;  // the band within which the curves of the exponent's interval are
  double high = 0;
};

// How one cost of a routine grows.
struct Growth {
  Verdict verdict = Verdict::too_few;
  std::string shape;      // of the chosen curve: "n²", "n^1.93"; empty if there were too few sizes
  Interval exponent;      // of a free power; 0 if there were too few sizes
  std::size_t sizes = 0;  // distinct ones from 1 on
  double smallest = 0;
  double largest = 0;
  std::vector<LinePoint> line;  // the chosen curve from the smallest size to the largest
};

// One thread's part of a routine.
struct ThreadPart {
  std::string run;
  std::uint32_t number = 0;
  std::string name;
  std::uint64_t calls = 0;
  std::array<double, kCostUnits> share{};  // of the routine's cost that no recursion counts twice
};

struct Routine {
  std::string name;  // "[libz.so.1+0x1010]" where no symbol covers it
  std::string module;
  std::string build_id;
  std::uint64_t offset = 0;
  std::string file;  // empty if it is not known
  std::uint32_t line = 0;
  std::uint64_t calls = 0;
  std::array<double, kCostUnits> share{};      // of the run, with what it calls
  std::array<double, kCostUnits> own_share{};  // of the run, without
  std::array<std::vector<SizeRow>, kMetrics> rows;
  // By metric, cost and Of. Those of a cost that was not asked for have too few sizes.
  std::array<std::array<std::array<Growth, kFits>, kCostUnits>, kMetrics> growth;
  double external_share = 0;  // of the input by trms: what the kernel wrote
  double thread_share = 0;    // what other threads wrote
  double richness = 0;        // (|TRMS| - |RMS|) / |RMS|, of distinct sizes (§6.1)
  double volume = 0;          // 1 - ΣRMS / ΣTRMS (§6.1)
  std::string disagreement;   // of the metrics, a sentence; empty if there is none
  std::vector<ThreadPart> threads;

  const Growth& of(Metric metric, CostUnit unit, Of of) const {
    return growth[static_cast<std::size_t>(metric)][static_cast<std::size_t>(unit)]
                 [static_cast<std::size_t>(of)];
  }
};

// What the whole program would execute if the input of each call were ten times as large.
struct Forecast {
  bool is_known = false;
  Interval times;       // as much as in these runs; infinite if that is more than a number holds
  double share = 0;     // of the run whose growth is certain; the rest is counted as it is
  std::string routine;  // with what it calls it has that share; empty: all routines' own costs
};

struct Profile {
  std::string logs;     // the files, as a shell takes them
  std::string command;  // of the last run
  std::string host;     // empty if there are several
  std::uint64_t runs = 0;
  std::uint64_t incomplete = 0;  // runs without their end
  std::int64_t started_ns = 0;   // of the first run
  std::uint32_t cell_bytes = 0;
  bool aprof_compatible = false;
  Metric metric = Metric::trms;      // by which routines are ranked
  CostUnit cost = CostUnit::blocks;  // by which routines are ranked
  bool has_both_costs = false;       // whether the growth of the other cost is there, too
  std::array<std::uint64_t, kCostUnits> total{};
  double volume = 0;              // of all routines together (§6.1)
  std::vector<Routine> routines;  // ranked
  Forecast forecast;
  std::vector<std::string> notes;  // what was lost, a sentence each
  std::vector<std::string> warnings;

  const Growth& growth(const Routine& routine, Of of) const { return routine.of(metric, cost, of); }
};

// Whether the mean or the worst cost certainly grows faster than n log n.
inline bool is_superlinear(const Profile& profile, const Routine& routine) {
  return profile.growth(routine, Of::mean).verdict == Verdict::superlinear ||
         profile.growth(routine, Of::worst).verdict == Verdict::superlinear;
}

constexpr std::string_view name_of_metric(Metric metric) {
  return metric == Metric::trms ? "trms" : "rms";
}
constexpr std::string_view name_of_cost(CostUnit unit) {
  return unit == CostUnit::blocks ? "blocks" : "instructions";
}

}  // namespace causalctl::report::inputs
