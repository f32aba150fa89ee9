// TOML → Config. Unknown keys, wrong types and values out of range are errors with file, line and
// column, all reported at once. Names: interface.md, "TOML" (in docs/configuration.md).
#pragma once

#include <string>
#include <string_view>

#include "config/config.h"

namespace causalctl::config {

// Throws UsageError whose text has one "FILE:LINE:COLUMN: …" line per fault.
Config load(const std::string& path);
Config parse(std::string_view text, const std::string& name);

// Checks what no single key shows (one of pid/match/command, at least one progress point, …).
// `text` forms shared with the command line; each throws UsageError naming `what`.
Nanoseconds parse_duration(std::string_view text, std::string_view what);  // 250us 10ms 1.5s 5m 2h

}  // namespace causalctl::config
