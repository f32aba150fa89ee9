// The report of `causalctl report` for logs of input sizes.
#pragma once

#include <string>
#include <vector>

#include "controller/base/json_lines.h"
#include "controller/commands/report.h"

namespace causalctl::commands {

inline constexpr const char* kInputsFormats = "text|json|html|aprof|csv";

// What of the recording is shown.
struct InputsView {
  std::string function;  // one routine; empty for all
  std::string metric;    // "trms" or "rms"; empty for trms
  std::string cost;      // "blocks" or "instructions"; empty for blocks
};

// Returns whether it is a log of input sizes.
bool is_of_inputs(const LogText& log);

// Throws UsageError for what such a report has not.
void check_inputs_view(const InputsView& view, const ReportOptions& options);

// REQUIRES: check_inputs_view(). Throws Error, UsageError if there is no such routine.
void write_inputs_report(const std::vector<LogText>& logs, const InputsView& view,
                         const ReportOptions& options);

}  // namespace causalctl::commands
