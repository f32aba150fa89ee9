// From TOML to a Config, and from a Config to the JSON of the log. Unknown keys, wrong types and
// values out of range are errors with file, line and column; all of them are reported at once.
// docs/configuration.md lists the keys.
#pragma once

#include <string>
#include <string_view>

#include "config/config.h"

namespace causalctl::config {

// Throws UsageError; its text has one "FILE:LINE:COLUMN: …" line for each fault.
Config load(const std::string& path);
Config parse(std::string_view text, const std::string& name);
// Like load(), for a text that sets only some of the keys. Leaves a setting of `into` as it is if
// its value in the text has a fault.
void apply(std::string_view text, const std::string& name, Config& into);

// Returns the configuration of a run for the experiment log: the keys of the TOML file, as JSON,
// without [ab] and [callpath].
std::string config_json(const Config& config);

// Checks what no single key shows, once the command line has been merged in: exactly one of pid,
// match and command is given; there is at least one progress point; no name is used twice. Throws
// UsageError.
void check(const Config& config);

// Like check(), for `causalctl ab`. Also copies to each side what only `both` sets. Throws
// UsageError.
void check_ab(Config& config);

// These check single values. Each throws UsageError that names `what`.
void check_format(std::string_view format, std::string_view what);     // text, json or coz
void check_ab_format(std::string_view format, std::string_view what);  // text, json or csv
void check_pattern(std::string_view pattern, std::string_view what);   // at most one group

}  // namespace causalctl::config
