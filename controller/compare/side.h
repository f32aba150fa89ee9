// One run of one side: start, ready, load, warm-up, measure, teardown. Shell.
//
// The measurement ends after the given time (measure); without it, at the end of the load; without
// a load, at the end of the command itself, and then the whole run is measured.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "controller/base/unpaired_share.h"
#include "controller/compare/comparison.h"
#include "controller/compare/run_failed.h"
#include "controller/compare/running.h"

namespace causalctl::compare {

class KeptWindows;

struct RunOptions {
  std::string name;  // names the run in messages: "run 3 (side a)"
  Side side = Side::a;
  const Running* running = nullptr;  // null for a command; the same for all runs of the side
  KeptWindows* kept = nullptr;       // the same for all runs
  std::uint64_t seed = 1;
  std::function<bool()> interrupted;  // is asked every few milliseconds
};

struct OneRun {
  std::vector<Measured> values;
  std::uint64_t records_lost = 0;
  double visits_per_s = 0;                        // of all progress points
  double counting_share = 0;                      // how much of one core counting them took
  std::vector<std::string> remarks;               // what points do not count, or count besides
  std::map<std::string, BeginsAndEnds> unpaired;  // as Window::unpaired()
  double births_per_s = 0;
  std::map<std::string, Nanoseconds> counting_in_latency;  // as Window's
};

// nullopt: interrupted. However it is left, nothing that was started runs on. Throws UsageError
// (cannot be executed, no such progress point), TargetGone (a process that was running has ended),
// NeedsUprobes, RunFailed (did not get ready, ended early or badly, exceeded its time, hardly
// passed a point), Error.
std::optional<OneRun> run_side(const config::Ab& ab, const config::Progress& progress,
                               const config::AbSide& side, const RunOptions& options);

}  // namespace causalctl::compare
