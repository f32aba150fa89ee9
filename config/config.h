// What a run is asked to do, with the defaults. settings.cc says how each is set.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::config {

struct LatencyPoint {
  std::string name;
  std::string begin;  // SPECs
  std::string end;
};

struct Target {
  std::optional<Pid> pid;
  std::string match;  // process name, exactly one must match
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;
  std::string directory;
};

// How code points are counted: by hardware breakpoints where they were seen to fire and registers
// are free, otherwise by uprobes; or by one of the two only.
enum class CountBy : std::uint8_t { automatic, breakpoint, uprobe };
constexpr auto names_of(CountBy) {
  return std::array<std::string_view, 3>{"auto", "breakpoint", "uprobe"};
}

struct Progress {
  std::vector<std::string> throughput;  // SPECs
  std::vector<LatencyPoint> latency;
  bool end_to_end = false;
  CountBy count_by = CountBy::automatic;
};

enum class Unit : std::uint8_t { automatic, line, function };
constexpr auto names_of(Unit) {
  return std::array<std::string_view, 3>{"auto", "line", "function"};
}

struct Scope {
  std::vector<std::string> binaries = {"MAIN"};  // globs
  std::vector<std::string> files;                // globs; if empty, all but libraries' files
  Unit unit = Unit::automatic;

  bool is_default() const { return files.empty() && binaries == std::vector<std::string>{"MAIN"}; }
};

struct Experiment {
  Nanoseconds duration_ns = 500 * kMillisecond;
  Nanoseconds cooloff_ns = 10 * kMillisecond;
  unsigned min_visits = 5;
  std::vector<unsigned> speedups_percent = {0,  5,  10, 15, 20, 25, 30, 35, 40, 45, 50,
                                            55, 60, 65, 70, 75, 80, 85, 90, 95, 100};
  double baseline_share = 0.5;
  std::optional<std::uint64_t> seed;
  std::string fixed_unit;  // if empty, units are chosen at random
  std::optional<unsigned> fixed_speedup_percent;
  // a test before the experiments finds out whether progress comes at its own pace
  bool pace_test = true;
};

struct Sampling {
  std::optional<Nanoseconds> period_ns;  // nullopt: automatic
  bool peers = true;  // processes with which the target exchanges wake-ups are followed
};

struct Pause {
  std::string channel = "auto";  // auto | sigtrap | ptrace
  Nanoseconds longest_ns = 100 * kMillisecond;
  std::optional<Nanoseconds> cost_ns;  // of one pause, besides its length; nullopt: automatic
  // a debt above it is paid by a pause; nullopt: automatic
  std::optional<Nanoseconds> threshold_ns;
};

struct Budget {
  std::optional<Nanoseconds> duration_ns;
  std::optional<double> max_slowdown_percent;
  bool until_certain = false;  // the run ends early when the hottest units are decided
};

struct Output {
  std::string log = "profile.jsonl";
  std::string format = "text";  // text | json | coz (html and csv are refused for now)
};

// One side of `causalctl ab`: a program that is started for each run, or a running process.
struct AbSide {
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;
  std::string directory;
  std::optional<Pid> pid;
  std::string match;
  // When the measurement can begin. All conditions that are given must hold, checked in this order.
  std::string ready;  // pattern (of RE2) in its output; a group in it captures the pid
  std::optional<unsigned> ready_port;  // of the loopback interface; it accepts a connection
  std::optional<Nanoseconds> ready_delay_ns;
  std::vector<std::string> load;  // command run against it
  std::vector<unsigned> cpus;     // empty: all
  std::vector<unsigned> load_cpus;
  std::optional<int> nice;
};

struct Predict {
  std::string log;  // if empty, nothing is predicted
  std::string unit;
  double speedup_percent = 0;
};

struct Ab {
  AbSide a, b;
  AbSide both;                          // settings for a side that does not set them itself
  std::optional<unsigned> rounds;       // pairs of runs; with until_certain, the most
  std::optional<unsigned> null_rounds;  // pairs of A against A, which come first
  Nanoseconds warm_up_ns = 0;
  // nullopt: until the load or, without one, the command ends
  std::optional<Nanoseconds> measure_ns;
  Nanoseconds time_limit_ns = 300 * kSecond;  // of one run
  Nanoseconds grace_ns = 5 * kSecond;         // from SIGTERM to SIGKILL
  std::optional<std::uint64_t> seed;
  bool until_certain = false;
  double resolution_percent = 1;      // with until_certain, smaller effects do not matter
  double allow_failures_percent = 0;  // of the runs of a side, which are made again
  std::optional<double> fail_if_slower_percent;
  Predict predict;
};

// Which threads a recording of call paths tells apart.
enum class Grouping : std::uint8_t { all, by_name, each, by_start };
constexpr auto names_of(Grouping) {
  return std::array<std::string_view, 4>{"all", "by-name", "each", "by-start"};
}

inline constexpr const char* kEventForms =
    "cpu|offcpu|page-faults|syscall:NAME[:bytes]|uprobe:FUNCTION[:REGISTER]|cycles";

// A recording of call paths.
struct Callpath {
  std::optional<Nanoseconds> duration_ns;
  std::optional<Nanoseconds> period_ns;  // nullopt: automatic
  std::vector<std::string> events;       // if empty, time on a core and waits
  std::vector<std::string> counts;       // functions
  bool wakers = false;
  // What the uprobes of events and counts may cost, of the time of a thread.
  double max_event_cost_percent = 3;
  Grouping threads = Grouping::all;
  std::vector<std::string> epochs;
  std::string log = "callpath.jsonl";
};

struct Config {
  Target target;
  Progress progress;
  Scope scope;
  Experiment experiment;
  Sampling sampling;
  Pause pause;
  Budget budget;
  Output output;
  Ab ab;
  Callpath callpath;
};

}  // namespace causalctl::config
