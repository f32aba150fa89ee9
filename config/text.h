// Text functions that the loader, the kinds of values and the command line share. Where one of them
// throws UsageError, its text names the option `what`, unless that is empty.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "controller/base/types.h"

namespace causalctl::config {

// Returns the candidate with the fewest edits to `word`; nullopt if even that needs too many to be
// a slip.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& all);

std::string lead_in(std::string_view what);      // "WHAT: "; empty if `what` is empty
std::string duration_text(Nanoseconds time_ns);  // in the form that parse_duration reads
// for messages: what base/printable.h makes of its beginning
std::string printable(std::string_view untrusted);

// Each throws UsageError.
Nanoseconds parse_duration(std::string_view text, std::string_view what);  // 250us 10ms 1.5s 5m 2h
LatencyPoint parse_latency(std::string_view text, std::string_view what);  // NAME=BEGIN,END
// Splits the text into words as a shell would, with quotes and $VARIABLES, but runs no commands.
std::vector<std::string> split_words(const std::string& text, std::string_view option);
// Returns the words as a shell reads them, quoted where they must be.
std::string joined_words(const std::vector<std::string>& words);

}  // namespace causalctl::config
