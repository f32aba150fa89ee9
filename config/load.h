// TOML → Config → JSON of the log. Unknown keys, wrong types and values out of range are errors
// with file, line and column, all reported at once. Names: docs/configuration.md.
#pragma once

#include <string>
#include <string_view>

#include "config/config.h"

namespace causalctl::config {

// Throws UsageError whose text has one "FILE:LINE:COLUMN: …" line per fault.
Config load(const std::string& path);
Config parse(std::string_view text, const std::string& name);
// The same, of text that says only what is to be different: `into` is left as it is where there is
// a fault.
void apply(std::string_view text, const std::string& name, Config& into);

// What was used, for the experiment log: the keys of the TOML file, as JSON, without [ab].
std::string config_json(const Config& config);

// Checks what no single key shows, once the command line is merged in: one of pid, match and
// command; at least one progress point; names used once. Throws UsageError.
void check(const Config& config);

// The same for `causalctl ab`, and gives each side what only `both` says. Throws UsageError.
void check_ab(Config& config);

// Of single values; each throws UsageError naming `what`.
void check_format(std::string_view format, std::string_view what);     // text, json or coz
void check_ab_format(std::string_view format, std::string_view what);  // text, json or csv
void check_pattern(std::string_view pattern, std::string_view what);   // of one group at most

}  // namespace causalctl::config
