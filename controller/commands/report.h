// `causalctl report`, and the rendering that attach and run end with.
#pragma once

#include <string>
#include <vector>

#include "controller/causal/analysis/run_groups.h"
#include "controller/causal/record/experiment.h"
#include "controller/commands/output.h"

namespace causalctl::commands {

struct ReportOptions {
  std::string format = "text";  // text, json or coz; checked before
  std::string path;             // "" or "-": standard output
  Color color = Color::automatic;
};

// Estimates from each group and writes the report. `warnings`, of the logs as a whole, are added to
// those of the estimate of a group alone, and come before those of several. Throws UsageError for
// several groups in a format that holds one.
void write_report(const std::vector<causal::RunGroup>& groups, const std::vector<Warning>& warnings,
                  const ReportOptions& options);

}  // namespace causalctl::commands
