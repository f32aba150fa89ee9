// The exact counts of a build, and how many such runs were recorded.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/continuous/analysis/file_names.h"
#include "controller/continuous/record/database.h"

namespace causalctl::commands {

struct CountedRun {
  continuous::ExactCounts exact;
  std::string command;
  std::int64_t imported_ns = 0;  // since 1970
  double runs = 0;               // that were recorded in the epochs; 0: not known
  std::string runs_by;           // how that is known
};

// Returns nullopt if nothing was imported of the image's build. `told`: runs as the user says; 0:
// as a progress point in the image tells that was counted in these epochs. Throws Error if the
// counts are damaged.
std::optional<CountedRun> counted_run(const continuous::Database& database,
                                      const std::vector<continuous::Epoch>& epochs,
                                      const continuous::Image& image, continuous::FileNames& names,
                                      double told);

inline constexpr const char* kRunsHelp =
    "what was recorded is N times the run whose counts were imported (db DIR import) [as progress "
    "points tell that were counted]";
double parse_runs(const std::string& text);  // throws UsageError

}  // namespace causalctl::commands
