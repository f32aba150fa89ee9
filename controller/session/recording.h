// What every recording of an attachment has, whichever capability made it. Passive.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "controller/base/fields.h"
#include "controller/base/run_totals.h"
#include "controller/base/stopped_calls.h"
#include "controller/base/types.h"
#include "controller/progress/armed.h"

namespace causalctl::session {

// How a progress point was counted on this machine.
struct Counting {
  std::string point;              // its name; that of a latency stands twice, for begin and end
  std::string by;                 // as progress::text_of() names it
  Nanoseconds visit_cost_ns = 0;  // what a visit costs its thread; 0 if hardly anything, or unknown
  // Not in the log: the way, and whether uprobes count it, or could.
  progress::CountedBy way = progress::CountedBy::samples;
  bool can_be_uprobe = false;

  static constexpr auto fields() {
    return std::tuple{Field("point", &Counting::point), Field("by", &Counting::by),
                      Field("visit_cost_ns", &Counting::visit_cost_ns)};
  }
};

// How a signal ended the target during the run.
struct Death {
  int signal = 0;
  // Time since the latest pause of that thread; nullopt if there was none within a second.
  std::optional<Nanoseconds> after_pause_ns;
  Tid paused = 0;

  static constexpr auto fields() {
    return std::tuple{Field("signal", &Death::signal),
                      Field("after_pause_ns", &Death::after_pause_ns),
                      Field("paused", &Death::paused, kIfSet)};
  }
};

struct Recording {
  std::string id;
  std::string host;
  Pid pid = 0;
  std::string executable;
  std::string started_as;  // the name that the program was started by, if its file has another one
  std::string build_id;
  Nanoseconds started_ns = 0;  // CLOCK_REALTIME
  std::string config_json;     // the configuration that was used, if there is one
  std::uint64_t seed = 0;
  // What the run relies on and the outcome of its trial: names of base/facility.h and base/trial.h.
  std::map<std::string, std::string> facilities;
  bool ended = false;  // false if the log is cut off because the run was killed
  EndReason reason = EndReason::none;
  std::optional<Death> death;  // nullopt if not known
  Nanoseconds wall_ns = 0;
  Losses losses;
  bool throttled = false;  // whether a quota of CPU time stopped it, as far as that can be read
  DigestResult digest = DigestResult::unknown;
  StoppedCalls stopped_calls;
  std::vector<Counting> counting;  // by tag
  std::vector<std::string> peers;  // as "client (process 12)"
  // Whether something of ours is still in the target; the last warning says why. Not in the log.
  bool left_in_target = false;
  std::string log_failure;  // why the log is not complete; empty if it is
  std::vector<std::string> warnings;
};

namespace detail {
template <class R, class T>
constexpr Field<R, T> row(const char* key, T Recording::*member, unsigned flags = kSummed) {
  return {key, member, flags};
}
}  // namespace detail

// Rows (base/fields.h) of what is known at a run's start, for the first line of its log. R is a
// Recording, or what is derived from it.
template <class R>
constexpr auto first_rows() {
  return std::tuple{detail::row<R>("run", &Recording::id),
                    detail::row<R>("host", &Recording::host),
                    detail::row<R>("pid", &Recording::pid),
                    detail::row<R>("executable", &Recording::executable),
                    detail::row<R>("started_as", &Recording::started_as),
                    detail::row<R>("build_id", &Recording::build_id),
                    detail::row<R>("started_ns", &Recording::started_ns, kDate),
                    detail::row<R>("config", &Recording::config_json, kIfSet),
                    detail::row<R>("seed", &Recording::seed),
                    detail::row<R>("counting", &Recording::counting, kIfSet),
                    detail::row<R>("facilities", &Recording::facilities)};
}

// Rows of what is known at its end, for the last line.
template <class R>
constexpr auto last_rows() {
  return std::tuple{detail::row<R>("run", &Recording::id),
                    detail::row<R>("reason", &Recording::reason),
                    detail::row<R>("wall_ns", &Recording::wall_ns),
                    detail::row<R>("losses", &Recording::losses),
                    detail::row<R>("throttled", &Recording::throttled),
                    detail::row<R>("digest", &Recording::digest),
                    detail::row<R>("stopped_calls", &Recording::stopped_calls),
                    detail::row<R>("peers", &Recording::peers),
                    detail::row<R>("warnings", &Recording::warnings),
                    detail::row<R>("", &Recording::death)};
}

}  // namespace causalctl::session
