// The first line of a report of call paths: how much of the threads' time was on a core, blocked,
// or spent waiting for a core, and which functions of the program had most of that. Pure.
//
// Time on a core is that of the function which ran. Blocked time is that of the innermost function
// on the path that is not of a language's runtime: read(2) says little, and its caller much.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "controller/report/callpath/labels.h"
#include "controller/report/callpath/model.h"

namespace causalctl::report::callpath {

// Where threads were, in the order in which the report's columns have it.
enum class State : std::uint8_t { on_core, blocked, runnable, stopped, frozen };

struct StateTime {
  struct Part {
    std::uint32_t label = 0;  // of a function
    std::uint64_t ns = 0;
  };
  State state = State::on_core;
  std::size_t column = 0;   // of the profile
  std::uint64_t ns = 0;     // of all threads together
  std::vector<Part> parts;  // the functions with most of it, if any has much
};

struct TimeSummary {
  std::vector<StateTime> states;  // largest first; none without time
  std::uint64_t ns = 0;           // of all states together
  double threads = 0;             // that there were, on average, if waits were recorded
  bool has_waits = false;         // waits were recorded; otherwise only time on a core is known
  // The program used less than half a core and was mostly blocked, so that its waits matter more
  // than its code.
  bool waits_most = false;
};

// REQUIRES: the labels are those of the profile's functions (by_function()).
TimeSummary summary_of(const Profile& profile, const Labels& labels);

// "10.0 s of postgres (process 4711): 78 % blocked (57 % issue_xlog_fsync), 12 % on a core". With
// more than one thread the figures are numbers of threads. Without recorded waits they are cores:
// "0.12 cores (0.09 parse)". Where time on a core was not recorded, the samples are told.
// Printable.
std::string words_of(const TimeSummary& summary, const Profile& profile, const Labels& labels,
                     const ShortNames& names);

}  // namespace causalctl::report::callpath
