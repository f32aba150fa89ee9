// What `causalctl calc` shows: a function by block and instruction (DCPI §3.2, Figure 2), as plain
// structs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/report/continuous/model.h"

namespace causalctl::report::continuous {

struct CalcInstruction {
  Address address = 0;  // link-time
  std::string text;
  std::string line;           // "deflate.c:12"; empty if it is not known
  std::string source;         // the text of that line; empty if it is not wanted, or not there
  std::uint64_t samples = 0;  // that stand there
  double time_ns = 0;         // that it took
  Interval share = {};        // of the function's time
  std::string culprits;       // letters of CalcCause, the likeliest first: why it waits
};

struct CalcBlock {
  std::size_t first = 0, count = 0;  // of instructions
  double time_ns = 0;
  Interval share = {};
  double executions = 0;  // in the counted run
};

struct CalcEdge {
  static constexpr std::size_t kOutside = static_cast<std::size_t>(-1);
  std::size_t from = kOutside, to = kOutside;  // blocks
  double passes = 0;                           // in the counted run
};

// A stretch of code that an entry of the unwind table describes. A function has several where the
// compiler has put what seldom runs elsewhere.
struct CalcPart {
  Address low = 0, high = 0;
  bool is_counted = false;
  double calls = 0;  // entries in the counted run
  std::vector<CalcInstruction> instructions;
  std::vector<CalcBlock> blocks;
  std::vector<CalcEdge> edges;
};

// A reason for which instructions wait.
struct CalcCause {
  char letter = ' ';
  std::string name;
  double least = 0;  // of the function's time, where nothing else can be the reason
  double most = 0;   // where it can be
};

// The function's time by cause (Figure 4), in shares that add up to 1 without those of causes.
struct CalcSummary {
  std::vector<CalcCause> causes;
  double stalls = 0;
  double unexplained = 0;  // part of the stalls
  double latency = 0;      // of instructions that wait for each other
  double execution = 0;    // what is left if nothing waits
  // Without the cycles of an execution these are not told apart: all is in `stalls`, and what has
  // no cause is `unexplained`.
  bool has_cycles = false;
};

// Exact counts of the build.
struct CalcCounts {
  std::string command;   // that was counted
  std::string imported;  // local time
  // What was recorded is so many times the counted run; 0: not known.
  double runs = 0;
  std::string runs_by;  // how that is known
};

struct Calc {
  std::string host;
  std::vector<EpochHead> epochs;
  std::string event;
  std::string function, image, build_id;
  std::uint64_t samples = 0;
  Nanoseconds time_ns = 0;
  Interval share = {};  // of all time
  std::optional<CalcCounts> counts;
  double ghz = 0;  // of the host's cores; 0: not known
  CalcSummary summary;
  std::vector<CalcPart> parts;
  std::vector<std::string> warnings;
};

// Returns the nanoseconds that one execution takes, or nullopt if the counts do not tell.
std::optional<double> ns_each(const Calc& calc, double time_ns, double executions);

// What is missing where there are no counts, or it is not known how many runs were recorded.
inline constexpr const char* kNoCounts =
    "there are none of this build, so it is not known how often code runs (db DIR import)";
inline constexpr const char* kNoRuns =
    "how many such runs were recorded is not known, so there are no cycles (--runs N, or record "
    "--progress)";

struct CalcOptions {
  bool color = false;
  int width = 100;
  double cutoff = 0.005;       // blocks with a smaller share of the function's time are left out
  bool summary_alone = false;  // without blocks
};

std::string render_text(const Calc& calc, const CalcOptions& options);
std::string render_json(const Calc& calc);
std::string render_html(const Calc& calc);  // a page that needs nothing else
std::string render_dot(const Calc& calc);   // the control-flow graph, for Graphviz

}  // namespace causalctl::report::continuous
