// What every report shows, as plain structs. The JSON report shows the whole model.
#pragma once

#include <algorithm>
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

// Why a report states no smaller effect than it does, or none at all. finding_words.h has the
// words. What a reason does not need is left out.
struct Reason {
  enum class Kind : std::uint8_t {
    // Bounds: an effect must be larger to be stated.
    self_check,     // without any speedup the experiments of `subject` agree only to `range`
    no_self_check,  // the baselines of `subject` are too few to compare them
    sampling_cost,  // it slows down the target by `range`
    counting_cost,  // visits of `subject` take `share` of the target's CPU time
    unpaid_delay,   // pauses were as much longer or shorter than asked for
    // Checks that failed. They are said before any effect.
    self_check_failed,  // without any speedup the experiments of `subject` differ by `range`
    target_changed,
    sampling_slows,  // by a tenth or more, certainly: `range`
    counting_slows,  // visits of `subject` take a tenth of the CPU time or more: `share`
    many_discarded,  // `count` of `of` experiments
    loads_differ,    // in `count` runs `subject` comes at its own pace, in `of` it does not
    // Why nothing is stated.
    no_experiment,
    not_visited,      // `subject`
    few_experiments,  // for any effect on `subject`
    own_pace,         // `subject` comes at its own pace
    pace_unknown,     // it may do so
    not_sped_up,      // unit `subject` was sampled in `count` of `of` experiments, `samples` times
    open,             // of unit `subject` all is still possible that its own time allows: `effect`
    below_bound,      // the effect of unit `subject` is certain, but below the bound
    noise,            // the effect of unit `subject` is known to ± `effect`, at kToldSpeedup
    strangers,        // other programs took the cores for `share` of the time
    quota,            // a quota of CPU time stopped the target for `share` of the time
  };
  Kind kind = Kind::no_experiment;
  std::string subject{};   // a point or a unit
  double effect = 0;       // as a fraction; of a bound, the largest effect that it denies
  double per_speedup = 0;  // of a bound: it denies up to this times the speedup, too
  std::optional<Interval> range{};
  double share = 0;
  std::uint64_t count = 0;
  std::uint64_t of = 0;
  std::uint64_t samples = 0;
  double by_samples = 0;  // of per_speedup: what samples take, each where it is taken
};
constexpr auto names_of(Reason::Kind) {
  return std::array<std::string_view, 22>{
      "self-check",        "no-self-check",  "sampling-cost",  "counting-cost",   "unpaid-delay",
      "self-check-failed", "target-changed", "sampling-slows", "counting-slows",  "many-discarded",
      "loads-differ",      "no-experiment",  "not-visited",    "few-experiments", "own-pace",
      "pace-unknown",      "not-sped-up",    "open",           "below-bound",     "noise",
      "strangers",         "quota"};
}

inline constexpr double kToldSpeedup = 0.5;  // for which precision is told

// What the checks of a run bear: how large an effect must be to be stated, and which checks failed.
struct Bearing {
  std::vector<Reason> bounds;
  std::vector<Reason> failed;

  double bound(double speedup) const {  // the largest effect that is denied at that speedup
    double most = 0;
    for (const Reason& each : bounds) {
      most = std::max({most, each.effect, each.per_speedup * speedup});
    }
    return most;
  }
};

// What would help to know more.
struct Help {
  enum class Kind : std::uint8_t {
    longer,   // a run of `time_ns` (0: not known), to know effects to ± `effect`
    quieter,  // other programs, or too few cores, add noise
    without_quota,
    more_load,
    by_function,
    shorter_period,  // of `time_ns`
    longer_period,   // the same
    other_point,
    latency,  // of a point that comes at its own pace
    scope
  };
  Kind kind = Kind::longer;
  Nanoseconds time_ns = 0;
  double effect = 0;
};
constexpr auto names_of(Help::Kind) {
  return std::array<std::string_view, 10>{
      "longer",         "quieter",       "without-quota", "more-load", "by-function",
      "shorter-period", "longer-period", "other-point",   "latency",   "scope"};
}

// What the treatments of a unit, or of all units, are worth.
struct Tested {
  std::uint64_t experiments = 0;
  std::uint64_t sampled = 0;  // those in which the unit was sampled, so that something was faster
  std::uint64_t paused = 0;   // those in which some thread was paused
  std::uint64_t samples = 0;  // samples in the unit in all of them
};

enum class Verdict : std::uint8_t { optimise, no_effect, contention, not_enough_data };
constexpr auto names_of(Verdict) {
  return std::array<std::string_view, 4>{"optimise", "no-effect", "contention", "not-enough-data"};
}

struct UnitResult {
  std::string unit;
  bool is_line = false;
  bool is_path = false;  // a call path; then `function` is its callee
  std::string module;    // file name of the binary with the unit; empty if it is not known
  std::string function;
  std::string file;
  int line = 0;
  std::uint64_t samples = 0;
  // Those of them at its own instructions in user code, and not in what these call or in the
  // kernel; 0 if the log does not tell.
  std::uint64_t in_own_code = 0;
  // Of a call path: the samples of its callee on any path, and those of them whose callers are not
  // known. These are not in the unit.
  std::uint64_t in_callee = 0;
  std::uint64_t unknown_callers = 0;
  double sample_share = 0;
  std::uint64_t runs = 0;  // runs that tried it
  Tested tested;
  std::optional<Interval> slope;  // nullopt if there is not enough data
  std::optional<double> p_value;  // for no effect at all, adjusted for the number of units
  // The pool whose effect is the most certain; its interval is valid for all pools at once.
  std::optional<CurvePoint> best;
  Verdict verdict = Verdict::not_enough_data;
  double slope_by_model = 0;  // the part of half the slope's interval that more experiments leave
  // The effect is certain by its own interval, but no larger than what the run's checks bear.
  // Therefore the unit has no verdict.
  bool within_null = false;
  std::vector<CurvePoint> curve;    // by speedup, as measured
  std::vector<CurvePoint> summary;  // pools around 25, 50 and 100 %, if measured
  // The most that the unit can give per speedup: the average number of threads that execute it, at
  // most 1 (docs/estimator.md, "What a unit can give"); nullopt for a latency, which has no bound.
  std::optional<double> ceiling;
  // The unit is on nearly all stacks, like the function that starts the program, so its effect says
  // nothing.
  bool everybodys_caller = false;
  double phase_factor = 1;  // (t_obs/s_obs)·(s/T), Coz eq. 8, already in the effects
};

// Tells whether progress waits for the program or comes at its own pace (docs/virtual-time.md).
enum class Pace : std::uint8_t { of_program, own, unknown };
constexpr auto names_of(Pace) {
  return std::array<std::string_view, 3>{"program", "own", "unknown"};
}

struct Pacing {
  Pace pace = Pace::unknown;
  double paused_share = 0;  // the part of the time for which all threads stood still
  Interval rate;            // rate of visits meanwhile, divided by that without; not an effect
  // If threads queue for cores: the part of that time which their other waits absorbed. It decides
  // the pace then.
  std::optional<Interval> absorbed;
};

struct ProgressResult {
  std::string name;
  bool latency = false;
  std::uint64_t visits = 0;
  std::uint64_t runs = 0;  // runs that counted it
  double rate_per_s = 0;
  std::optional<double> mean_latency_s, p50_latency_s, p99_latency_s;  // of the baselines
  std::optional<Interval> null_effect;  // baselines compared with baselines
  // Each experiment was compared with its own real time, because no thread was ever paused.
  bool within = false;
  Bearing bearing;
  std::optional<Pacing> pacing;   // from the first run that has it
  std::string counted_by;         // "uprobe at 6 places"; from the first run that says it
  Nanoseconds visit_cost_ns = 0;  // what a visit costs its thread; 0 if hardly anything, or unknown
  std::vector<UnitResult> units;  // ranked
};

struct SelfCheck {
  std::optional<Interval> null_effect;  // from the first point that has one
  Tested tested;                        // for all units
  Nanoseconds delay_asked_ns = 0;
  Nanoseconds delay_paid_ns = 0;
  StoppedCalls stopped_calls;  // pauses by the stub interrupt none
};

// What the report says first: an effect of a unit, or why there is none. finding_words.h makes a
// sentence of it.
struct Finding {
  enum class Kind : std::uint8_t {
    not_enough_data,  // undecided
    no_effect,        // no unit that was measured has a larger effect than `most`
    only_callers,     // only functions that start the program and call all the rest have one
    optimise,
    contention
  };
  Kind kind = Kind::not_enough_data;
  std::string point;
  bool latency = false;  // whether the point is a latency
  // These are set for `optimise` and `contention`.
  std::string unit;
  std::string function;  // the function around a line; empty if not known
  double speedup = 0;    // of the unit, 0 to 1
  Interval effect;
  // The largest effect that the run's checks deny, at `speedup` or, without one, at kToldSpeedup.
  double bound = 0;
  // The largest effect that any measured unit may still have; nullopt if the experiments tell
  // nothing of it, or if there is an effect.
  std::optional<double> most;
  std::size_t measured = 0;  // units that were measured, and their share of the samples
  double measured_share = 0;
  std::vector<Reason> failed;   // checks
  std::vector<Reason> reasons;  // for the bound or for being undecided, the most important first
  std::vector<Help> helps;
};
constexpr auto names_of(Finding::Kind) {
  return std::array<std::string_view, 5>{"not-enough-data", "no-effect", "only-callers", "optimise",
                                         "contention"};
}

// Code out of scope that has a tenth of the samples or more.
struct PlaceShare {
  std::string place;     // a binary, or a directory of a library's files; empty for code in no file
  double share = 0;      // of all samples
  double unclaimed = 0;  // of all samples: those of which no caller is in scope
  std::string option;    // what takes it into the scope; empty if nothing does
};

struct InScope {
  double share = 0;  // samples of units that are not everybody's callers, of all samples
  std::vector<PlaceShare> elsewhere;  // the largest first; only if the scope is the default one
  std::string lead;  // where the samples are, if the default scope has under half of them
};

struct Report {
  InScope scope;
  Finding finding;
  std::vector<ProgressResult> progress;
  SelfCheck selfcheck;
  Overhead overhead;
  Losses losses;
  std::uint64_t experiments = 0;
  std::uint64_t experiments_discarded = 0;
  DigestResult digest = DigestResult::unknown;
  double oversubscribed_share = 0;  // runnable wait / (wait + run)
  double foreign_share = 0;         // the same for waits that other processes caused
  double quota_share =
      0;  // of the time in which a quota was used up, for which it stopped the target
  std::optional<double> cores_used;  // by the program, on average
  // What other programs on the same cores, and quotas, do to the numbers. It is among the warnings,
  // too.
  std::vector<Warning> beside;
  std::vector<std::string> peers;  // sorted
  // Maps each facility of the kernel to seen, never-fired or refused, as tried on causalctl itself.
  // It is "seen" only if all runs saw it.
  std::map<std::string, std::string> facilities;
  std::vector<Warning> warnings;
  // The header of the text report and the coz format show these.
  std::string executable;
  std::string started_as;  // the name that the program was started by, if its file has another one
  std::string build_id;
  EndReason reason = EndReason::none;
  Nanoseconds wall_ns = 0;
  std::uint64_t runs = 0;
};

}  // namespace causalctl::report
