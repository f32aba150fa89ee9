// `causalctl db DIR export`: profiles in the formats of other programs.
#pragma once

#include <string>
#include <vector>

#include "controller/commands/epochs_as_paths.h"

namespace causalctl::commands {

struct ExportOptions {
  std::string format = "json";  // or one of call paths (callpath_report.h) but text
  std::string path;             // "" and "-" mean standard output
  std::string label;            // only what has it; empty for all
};

// Throws UsageError.
void check_export(const ExportOptions& options);
void export_epochs(const std::vector<ChosenHost>& hosts, const ExportOptions& options);

}  // namespace causalctl::commands
