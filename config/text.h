// Words of configuration: what the loader, the kinds of values and the command line share. What
// throws UsageError names the option `what`, if that is not empty.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "controller/base/types.h"

namespace causalctl::config {

// The candidate with the fewest edits to `word`, if they are few enough to be a slip.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& all);

std::string lead_in(std::string_view what);         // "WHAT: "; empty, if that is
std::string duration_text(Nanoseconds time_ns);     // in the form that parse_duration reads
std::string printable(std::string_view untrusted);  // for messages: base/printable.h, its start

// Each throws UsageError.
Nanoseconds parse_duration(std::string_view text, std::string_view what);  // 250us 10ms 1.5s 5m 2h
LatencyPoint parse_latency(std::string_view text, std::string_view what);  // NAME=BEGIN,END
// Words as a shell would split them, with quotes and $VARIABLES, but no commands.
std::vector<std::string> split_words(const std::string& text, std::string_view option);

}  // namespace causalctl::config
