// The report with which `causalctl callpath` ends, and that of `causalctl report` for its logs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "controller/base/warning.h"
#include "controller/callpath/analysis/filter.h"
#include "controller/callpath/record/log.h"
#include "controller/callpath/record/recording.h"
#include "controller/commands/report.h"

namespace causalctl::commands {

inline constexpr const char* kCallpathFormats =
    "text|json|folded|pprof|speedscope|firefox|callgrind|hatchet|html";

inline constexpr const char* kCallpathLogHint =
    "the log still has everything: causalctl report LOG";

// What of the paths is shown.
struct CallpathView {
  // "function", "line", "path", "calls"; empty for the overview, and "process" for that of a set in
  // which each process has a row.
  std::string by;
  std::vector<callpath::Filter> filters;
  bool wakers = false;            // who ended waits
  bool kernel = false;            // the kernel's part of paths
  std::string metric;             // the column by which paths are ranked; empty for the first one
  std::string epoch;              // which epochs (callpath/epoch_choice.h); empty for all
  std::vector<std::string> diff;  // logs of the recordings with which to compare; empty for none
  std::string causal;             // log of a causal profile, to rank paths by gain; empty for none
  std::string per;                // what is divided by (callpath/present_sides.h); empty for shares
  // How a comparison gets more parts (report/callpath/sides.h); empty for what is usual.
  std::string more_parts = {};
};

// Throws UsageError. `path` is where the report goes: no binary format and no page goes to a
// terminal.
void check_callpath_format(const std::string& format, const std::string& path);
void check_callpath_view(const CallpathView& view, const std::string& format);

// `warnings` are about the logs as a whole. Returns whether the program mostly
// waited; false for other formats than text. Throws
// UsageError as callpath::apply() does, and if no column has the metric's name. REQUIRES: at least
// one run; options and view were checked.
bool write_callpath_report(std::span<const callpath::Recording> runs,
                           const std::vector<Warning>& warnings, const ReportOptions& options,
                           const CallpathView& view = {});

// Makes the recordings those that the view wants, with the kernel's part of their paths or without.
// A page that can fold it keeps it. Throws UsageError if it is wanted and a
// recording has none.
void choose_kernel_part(std::span<callpath::Recording> runs, const std::string& format,
                        const CallpathView& view);

// Writes what changed from `before` to `after`; both were read with their parts. Throws UsageError
// as callpath::present_sides() does, too. REQUIRES: a run of each; options and view were checked.
void write_callpath_difference(callpath::ReadLog before, callpath::ReadLog after,
                               const ReportOptions& options, const CallpathView& view);

}  // namespace causalctl::commands
