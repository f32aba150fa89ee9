// `causalctl report`, and the rendering that attach and run end with.
#pragma once

#include <string>
#include <vector>

#include "controller/causal/experiment.h"
#include "controller/commands/output.h"

namespace causalctl::commands {

struct ReportOptions {
  std::string format = "text";  // text, json or coz; checked before
  std::string path;             // "" or "-": standard output
  Color color = Color::automatic;
};

// Estimates from `runs` and writes the report. `warnings` are added to those of the estimate.
void write_report(const std::vector<causal::Run>& runs, const std::vector<std::string>& warnings,
                  const ReportOptions& options);

}  // namespace causalctl::commands
