// Words of configuration: what load.cc and the command line share below config/load.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::config {

// The candidate with the fewest edits to `word`, if they are few enough to be a slip.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& all);

std::string duration_text(Nanoseconds time_ns);     // in the form that parse_duration reads
std::string printable(std::string_view untrusted);  // for messages: base/printable.h, its start

}  // namespace causalctl::config
