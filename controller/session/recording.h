// What every recording of a session with a target has, whichever capability made it. Passive.
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
  std::string point;              // its name; a latency's twice, for begin and end
  std::string by;                 // as progress::text_of() names it
  Nanoseconds visit_cost_ns = 0;  // of one visit, to its thread; 0: next to nothing, or unknown
  progress::CountedBy way = progress::CountedBy::samples;  // not in the log

  static constexpr auto fields() {
    return std::tuple{Field("point", &Counting::point), Field("by", &Counting::by),
                      Field("visit_cost_ns", &Counting::visit_cost_ns)};
  }
};

// How a signal ended the target during the run.
struct Death {
  int signal = 0;
  // Since a pause of that thread; nullopt: there was none within a second.
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
  std::string started_as;  // where the program was started by another name; empty: by that
  std::string build_id;
  Nanoseconds started_ns = 0;  // CLOCK_REALTIME
  std::string config_json;     // as used
  std::uint64_t seed = 0;
  // What the run relies on and how its try ended: names of base/facility.h and base/trial.h.
  std::map<std::string, std::string> facilities;
  bool ended = false;  // false: the log is cut off (killed run)
  EndReason reason = EndReason::none;
  std::optional<Death> death;  // where it is known
  Nanoseconds wall_ns = 0;
  Losses losses;
  bool throttled = false;  // a quota of CPU time has held it up, as far as that can be read
  DigestResult digest = DigestResult::unknown;
  StoppedCalls stopped_calls;
  std::vector<Counting> counting;  // by tag
  std::vector<std::string> peers;  // other processes that were followed: "client (process 12)"
  // Why something of ours is still in the target, if it is, is the last warning. Not in the log.
  bool left_in_target = false;
  std::string log_failure;  // why the log is not complete; empty: it is
  std::vector<std::string> warnings;
};

}  // namespace causalctl::session
