// The records of a run and of an experiment: the structs behind the experiment log. Passive.
// docs/log-format.md describes the log; causal/record/log.h writes and reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "controller/base/fields.h"
#include "controller/base/run_totals.h"
#include "controller/base/types.h"
#include "controller/causal/record/core_totals.h"
#include "controller/progress/counters.h"
#include "controller/session/recording.h"

namespace causalctl::causal {

using progress::LatencyCount;
using progress::ThroughputCount;
using session::Counting;
using session::Death;

using UnitId = std::uint32_t;  // the unit's index in a list of units

struct Unit {
  std::string name;  // "hash.c:217" or "hashtable_search": the shortest that is unique in its run
  bool is_line = false;
  std::string function;
  std::string file;
  int line = 0;
  std::string module{};  // file name of the binary; empty if not known
  // Of a call path (call_path.h): the identities of its steps, as it could be written, too; the
  // fields above are of the function that is called. Otherwise empty.
  std::string path{};

  static constexpr auto fields() {
    return std::tuple{Field("unit", &Unit::name),
                      Field("kind", &Unit::is_line),
                      Field("function", &Unit::function, kIfSet),
                      Field("file", &Unit::file, kIfSet),
                      Field("line", &Unit::line, kIfSet),
                      Field("module", &Unit::module, kIfSet),
                      Field("path", &Unit::path, kIfSet)};
  }
};

struct Experiment {
  Unit unit;
  double speedup = 0;        // 0 to 1; 0 in a baseline
  Nanoseconds start_ns = 0;  // since the start of the run
  Nanoseconds wall_ns = 0;
  Nanoseconds warm_up_ns = 0;        // length of the warm-up before the window; not logged
  Nanoseconds warm_up_delay_ns = 0;  // delay inserted in the warm-up; not logged
  Nanoseconds delay_ns = 0;      // growth of the largest lead; in a baseline only visits cause it
  Nanoseconds effective_ns = 0;  // wall_ns - delay_ns, less the stops by a quota
  std::uint64_t samples = 0;     // samples in the unit
  std::vector<ThroughputCount> throughput;
  std::vector<LatencyCount> latency;
  Nanoseconds runnable_wait_ns = 0;  // time for which target threads waited for a core, summed
  Nanoseconds foreign_wait_ns = 0;   // the part that other processes or a CPU limit caused
  CoreTotals cores;
  std::uint64_t lost_records = 0;
  Nanoseconds asked_ns = 0;  // asked of the pauses that were made, plus the open debt at the end
  Nanoseconds paid_ns = 0;
  std::uint64_t pauses = 0;
  // Standard error of the virtual time, because the cost of a pause is not known exactly.
  Nanoseconds cost_error_ns = 0;
  Nanoseconds model_error_ns = 0;  // standard error of the model (model_error.h)
  std::string discarded;           // why the experiment does not count; empty if it counts

  static constexpr auto fields() {
    return std::tuple{
        Field("", &Experiment::unit),
        Field("speedup", &Experiment::speedup),
        Field("start_ns", &Experiment::start_ns, kMoment),
        Field("wall_ns", &Experiment::wall_ns),
        Field("delay_ns", &Experiment::delay_ns),
        Field("effective_ns", &Experiment::effective_ns),
        Field("samples", &Experiment::samples),
        Field("throughput", &Experiment::throughput),
        Field("latency", &Experiment::latency),
        Field("runnable_wait_ns", &Experiment::runnable_wait_ns),
        Field("outside_wait_ns", &Experiment::foreign_wait_ns),
        Field("cores", &Experiment::cores),
        Field("lost_records", &Experiment::lost_records),
        Group("pauses", Field("asked_ns", &Experiment::asked_ns),
              Field("paid_ns", &Experiment::paid_ns), Field("count", &Experiment::pauses),
              Field("error_ns", &Experiment::cost_error_ns)),
        Field("model_error_ns", &Experiment::model_error_ns),
        Field("discarded", &Experiment::discarded, kIfSet)};
  }
};

struct UnitSamples {
  Unit unit;
  std::uint64_t count = 0;           // over the whole run
  std::uint64_t baseline_count = 0;  // in all baselines that count
  std::uint64_t inherited = 0;  // those of `count` that it got as the caller of code out of scope
  // Those of `inherited` in which the calls below the unit were the ones that most often are: many
  // of them tell of a call that does not return.
  std::uint64_t by_one_call = 0;
  std::uint64_t in_own_code = 0;  // those of `count` at the unit's instructions, in user code
  // Of a call path: the samples of its callee on any path, and those of them whose callers are not
  // known.
  std::uint64_t in_callee = 0;
  std::uint64_t unknown_callers = 0;

  static constexpr auto fields() {
    return std::tuple{Field("", &UnitSamples::unit),
                      Field("count", &UnitSamples::count),
                      Field("baseline_count", &UnitSamples::baseline_count),
                      Field("inherited", &UnitSamples::inherited),
                      Field("by_one_call", &UnitSamples::by_one_call, kIfSet),
                      Field("in_own_code", &UnitSamples::in_own_code, kIfSet),
                      Field("in_callee", &UnitSamples::in_callee, kIfSet),
                      Field("unknown_callers", &UnitSamples::unknown_callers, kIfSet)};
  }
};

// Samples in code out of scope.
struct PlaceSamples {
  // The file name of a binary, or the directory of a library's files, with a '/' at its end; empty
  // for code in no file.
  std::string place;
  std::uint64_t count = 0;
  std::uint64_t unclaimed = 0;  // those that no unit got as their caller
  std::uint64_t cut_off = 0;    // of these, those whose caller no table tells

  static constexpr auto fields() {
    return std::tuple{Field("place", &PlaceSamples::place), Field("count", &PlaceSamples::count),
                      Field("unclaimed", &PlaceSamples::unclaimed),
                      Field("cut_off", &PlaceSamples::cut_off, kIfSet)};
  }
};

// How a point's rate changed in a uniform pause, in which all threads of the target stand still for
// a part of the time and nothing is faster (pacing.h).
struct Pacing {
  std::string point;
  // The part of the time for which threads stood still; 0 if it could not be tested, although
  // progress may come at its own pace.
  double paused_share = 0;
  // Visits per real time in the uniform pause, divided by those without it, with its 95 % interval:
  // 1 - paused_share if progress waits for the program alone, 1 if it comes at its own pace.
  double rate = 1, low = 0, high = 1;
  bool cores_short = false;  // threads queued for cores then, although a core was sometimes idle
  // Share of the stop time that was absorbed by shorter waits for requests, timers or devices (not
  // for cores), per visit, with its 95 % interval: 1 if progress comes at its own pace, 0 if it
  // waits for the program.
  double absorbed = 0, absorbed_low = 0, absorbed_high = 0;

  bool tested() const { return paused_share > 0; }
  static constexpr auto fields() {
    return std::tuple{Field("point", &Pacing::point),
                      Field("held_back", &Pacing::paused_share),
                      Field("rate", &Pacing::rate),
                      Field("low", &Pacing::low),
                      Field("high", &Pacing::high),
                      Field("cores_short", &Pacing::cores_short),
                      Field("absorbed", &Pacing::absorbed),
                      Field("absorbed_low", &Pacing::absorbed_low),
                      Field("absorbed_high", &Pacing::absorbed_high)};
  }
};

struct Run : session::Recording {
  std::vector<Experiment> experiments;
  std::vector<UnitSamples> samples;
  std::vector<PlaceSamples> elsewhere;  // of the default scope; empty if the user chose another one
  Overhead overhead;
  CoreTotals cores;            // since the attach
  std::vector<Pacing> pacing;  // of the throughput points for which it was measured

  // The fields of the log's first and last line of a run: those that are known at the run's start,
  // and those that are known at its end.
  static constexpr auto first_fields() { return session::first_rows<Run>(); }
  static constexpr auto last_fields() {
    return std::tuple_cat(session::last_rows<Run>(),
                          std::tuple{Field("overhead", &Run::overhead), Field("cores", &Run::cores),
                                     Field("elsewhere", &Run::elsewhere, kIfSet)});
  }
};

}  // namespace causalctl::causal
