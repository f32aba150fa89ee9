// The report with which `causalctl callpath` ends, and that of `causalctl report` for its logs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "controller/base/warning.h"
#include "controller/callpath/log.h"
#include "controller/callpath/recording.h"
#include "controller/commands/report.h"

namespace causalctl::commands {

inline constexpr const char* kCallpathFormats = "text|json|folded";

void check_callpath_format(const std::string& format);  // throws UsageError
void write_callpath_report(std::span<const callpath::Recording> runs,
                           const std::vector<Warning>& warnings, const ReportOptions& options);

}  // namespace causalctl::commands
