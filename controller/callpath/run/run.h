// Records the call paths of a process or a set, from outside and without putting anything into it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/trial.h"
#include "controller/base/types.h"
#include "controller/callpath/engine/thread_groups.h"
#include "controller/callpath/record/event_spec.h"
#include "controller/callpath/record/recording.h"
#include "controller/callpath/run/epochs.h"
#include "controller/session/watch.h"

namespace causalctl::callpath {

struct Settings {
  std::optional<Nanoseconds> duration_ns;  // nullopt: until it is interrupted or the target ends
  Nanoseconds period_ns = kMillisecond;    // CPU time of a thread from one sample to the next
  bool waits = true;                       // where threads wait, too
  bool wakers = false;                     // and who ends their waits; needs `waits`
  Grouping grouping = Grouping::all;
  std::vector<EventSpec> events;        // sampled besides
  std::vector<Trial> tried{};           // what the session relies on (session/facilities.h)
  std::vector<std::string> left_out{};  // what is not recorded, and why: for the warnings
  double most_slowdown = 0.03;  // share of a thread's time that uprobes of `events` may cost
  EpochSettings epochs;
  std::uint64_t seed = 1;
};

struct Hooks {
  std::function<void(const std::string&)> show;  // the status
  std::function<void()> begun = [] {};           // everything is open: the recording begins
  std::function<void()> followed = [] {};        // all is set up: a suspended program may go on
  // Called every second when there is something new in the recording. It ends the run by the reason
  // EndReason::log_failed.
  std::function<void()> written = [] {};
};

// Fills the recording, which must know the target (session::identify). A set has no events and
// epochs that are of places in code. Throws Error as perf::Session does. Every way out leaves the
// target alone, because the kernel objects die with the session.
void record(session::Watch& watch, const Settings& settings, const Hooks& hooks,
            Recording& recording);

}  // namespace causalctl::callpath
