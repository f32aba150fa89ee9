// `causalctl report callpath.jsonl --causal profile.jsonl`: where the two capabilities meet.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "controller/base/json_lines.h"
#include "controller/callpath/record/log.h"
#include "controller/commands/callpath_report.h"

namespace causalctl::commands {

// Throws UsageError if the view or the format has no place for gains.
void check_gains_view(const CallpathView& view, const std::string& format);

// Ranks the paths of `log` by what the program would gain there, as the causal profile in `profile`
// says. `group` chooses one of its groups of runs, if there are several. Throws what
// report::callpath::gains_of() throws, and UsageError if the profile is no experiment log, or has
// several groups. REQUIRES: a run in `log`; options and view were checked.
void write_gains(const callpath::ReadLog& log, const std::vector<LogText>& profile,
                 const std::string& group, const ReportOptions& options, const CallpathView& view);

}  // namespace causalctl::commands
