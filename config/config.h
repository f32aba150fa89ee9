// What a run is asked to do: filled from TOML and the command line, defaults as in --help.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
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

struct Progress {
  std::vector<std::string> throughput;  // SPECs
  std::vector<LatencyPoint> latency;
  bool end_to_end = false;
};

enum class Unit : std::uint8_t { automatic, line, function };

struct Scope {
  std::vector<std::string> binaries = {"MAIN"};  // globs
  std::vector<std::string> files;                // globs; empty: all but system headers
  Unit unit = Unit::automatic;
};

struct Experiment {
  Nanoseconds duration_ns = 500 * kMillisecond;
  Nanoseconds cooloff_ns = 10 * kMillisecond;
  unsigned min_visits = 5;
  std::vector<unsigned> speedups_percent = {0,  5,  10, 15, 20, 25, 30, 35, 40, 45, 50,
                                            55, 60, 65, 70, 75, 80, 85, 90, 95, 100};
  double baseline_share = 0.5;
  std::optional<std::uint64_t> seed;
  std::string fixed_unit;  // empty: random plan
  std::optional<unsigned> fixed_speedup_percent;
};

struct Sampling {
  std::optional<Nanoseconds> period_ns;  // nullopt: auto
};

struct Pause {
  std::string channel = "auto";  // auto | sigtrap | ptrace
  Nanoseconds longest_ns = 100 * kMillisecond;
};

struct Budget {
  std::optional<Nanoseconds> duration_ns;
  std::optional<double> max_slowdown_percent;
  bool until_certain = false;  // ends early when the hottest units are decided
};

struct Output {
  std::string log = "profile.jsonl";
  std::string format = "text";  // text | json | coz (html and csv are refused for now)
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
};

}  // namespace causalctl::config
