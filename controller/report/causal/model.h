// What every report shows, as plain structs; the JSON report is this model, complete.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/interval.h"
#include "controller/base/run_totals.h"
#include "controller/base/stopped_calls.h"
#include "controller/base/types.h"
#include "controller/base/warning.h"

namespace causalctl::report {

struct CurvePoint {
  double speedup = 0;  // 0 to 1
  Interval effect;
  std::uint64_t experiments = 0;
  std::uint64_t visits = 0;
};

// What the experiments of a unit, or of all units, with a speedup are worth.
struct Tested {
  std::uint64_t experiments = 0;
  std::uint64_t sampled =
      0;                     // of them: the unit was sampled at least once, so something was faster
  std::uint64_t paused = 0;  // of them: some thread was paused
  std::uint64_t samples = 0;  // in the unit, in all of them
};

enum class Verdict : std::uint8_t { optimise, no_effect, contention, not_enough_data };
constexpr auto names_of(Verdict) {
  return std::array<std::string_view, 4>{"optimise", "no-effect", "contention", "not-enough-data"};
}

struct UnitResult {
  std::string unit;
  bool is_line = false;
  std::string function;
  std::string file;
  int line = 0;
  std::uint64_t samples = 0;
  double sample_share = 0;
  std::uint64_t runs = 0;  // that tried it
  Tested tested;
  std::optional<Interval> slope;  // nullopt: not enough data
  std::optional<double> p_value;  // of no effect at all, adjusted for the number of units
  // The pool whose effect is the most certain; its interval is valid for all pools at once.
  std::optional<CurvePoint> best;
  Verdict verdict = Verdict::not_enough_data;
  // Its effect is certain by its own interval, but no larger than what baselines may differ by
  // among themselves: it has no verdict therefore.
  bool within_null = false;
  std::vector<CurvePoint> curve;    // by speedup, as measured
  std::vector<CurvePoint> summary;  // pooled around 25, 50 and 100 %, where measured
  // What it can give at most, per speedup: the threads that execute it, on average, at most 1
  // (docs/estimator.md, "What a unit can give"); nullopt: no such bound (latency).
  std::optional<double> ceiling;
  // It is on nearly all stacks, as what starts the program is: its effect says nothing.
  bool everybodys_caller = false;
  double phase_factor = 1;  // (t_obs/s_obs)·(s/T), Coz eq. 8, already in the effects
};

// Whether progress waits for the program, or comes at its own pace (docs/virtual-time.md).
enum class Pace : std::uint8_t { of_program, own, unknown };
constexpr auto names_of(Pace) {
  return std::array<std::string_view, 3>{"program", "own", "unknown"};
}

struct Pacing {
  Pace pace = Pace::unknown;
  double paused_share = 0;  // the part of the time for which all threads stood still
  Interval rate;            // of visits meanwhile, over that without; not an effect
  // Where threads queue for cores, the part of that which their other waits took up, which tells.
  std::optional<Interval> absorbed;
};

struct ProgressResult {
  std::string name;
  bool latency = false;
  std::uint64_t visits = 0;
  std::uint64_t runs = 0;  // that counted it
  double rate_per_s = 0;
  std::optional<double> mean_latency_s, p50_latency_s, p99_latency_s;  // of the baselines
  std::optional<Interval> null_effect;                                 // baseline against baseline
  std::optional<Pacing> pacing;   // of the first run that has it
  std::string counted_by;         // "uprobe at 6 places"; of the first run that says it
  Nanoseconds visit_cost_ns = 0;  // of one visit, to its thread; 0: next to nothing, or unknown
  std::vector<UnitResult> units;  // ranked
};

struct SelfCheck {
  std::optional<Interval> null_effect;  // of the first point that has one
  Tested tested;                        // of all units
  Nanoseconds delay_asked_ns = 0;
  Nanoseconds delay_paid_ns = 0;
  StoppedCalls stopped_calls;  // pauses by the stub meet none
};

// What the report says first: an effect of a unit, or why there is none to tell.
struct Finding {
  enum class Kind : std::uint8_t {
    not_enough_data,
    no_effect,     // nothing that was measured is worth optimising
    only_callers,  // only what starts the program and calls all the rest is
    optimise,
    contention
  };
  Kind kind = Kind::not_enough_data;
  // Of `optimise` and `contention`:
  std::string point;
  bool latency = false;  // the point is one
  std::string unit;
  std::string function;  // which holds the unit, of a line; empty: not known
  double speedup = 0;    // of the unit, 0 to 1
  Interval effect;
};
constexpr auto names_of(Finding::Kind) {
  return std::array<std::string_view, 5>{"not-enough-data", "no-effect", "only-callers", "optimise",
                                         "contention"};
}

struct Report {
  Finding finding;
  std::vector<ProgressResult> progress;
  SelfCheck selfcheck;
  Overhead overhead;
  Losses losses;
  std::uint64_t experiments = 0;
  std::uint64_t experiments_discarded = 0;
  DigestResult digest = DigestResult::unknown;
  double oversubscribed_share = 0;  // runnable wait / (wait + run)
  double foreign_share = 0;         // … of waits owed to other processes
  // What other programs on the same cores, and quotas, do to the numbers. Among the warnings, too.
  std::vector<Warning> beside;
  std::vector<std::string> peers;  // other processes that were followed, sorted
  // Of the kernel → seen | never-fired | refused, on ourselves; "seen" only where all runs saw it.
  std::map<std::string, std::string> facilities;
  std::vector<Warning> warnings;
  // for the header of the text report and the coz format
  std::string executable;
  std::string started_as;  // the name that the program was started by, where its file has another
  std::string build_id;
  EndReason reason = EndReason::none;
  Nanoseconds wall_ns = 0;
  std::uint64_t runs = 0;
};

}  // namespace causalctl::report
