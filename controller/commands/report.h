// `causalctl report`, and the rendering with which attach and run end.
#pragma once

#include <string>
#include <vector>

#include "controller/causal/analysis/run_groups.h"
#include "controller/causal/record/experiment.h"
#include "controller/commands/output.h"

namespace causalctl::commands {

struct ReportOptions {
  std::string format = "text";  // text, json or coz; REQUIRES: it was checked
  std::string path;             // "" and "-" mean standard output
  Color color = Color::automatic;
};

// Keeps only the group that the user chose by its number. Throws UsageError.
void choose(std::vector<causal::RunGroup>& groups, const std::string& wanted);

// How a text report looks where it goes.
struct TextLook {
  bool color = false;
  int width = 0;
};
TextLook text_look(const ReportOptions& options);

// Estimates from each group and writes the report. `warnings` are about the logs as a whole. They
// are added to the warnings of a single group, and come before the reports of several. Throws
// UsageError for several groups in a format that holds one.
void write_report(const std::vector<causal::RunGroup>& groups, const std::vector<Warning>& warnings,
                  const ReportOptions& options);

}  // namespace causalctl::commands
