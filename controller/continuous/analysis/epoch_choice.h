// Which epochs of a database a reader means. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controller/continuous/record/counts.h"

namespace causalctl::continuous {

// Returns the numbers of the epochs that `text` means, in their order: "last"; "all"; "today"; a
// number, or a span of them, "3..5"; a name; or a span of local time,
// "2026-11-25T10:00..2026-11-25T11:00", of which the second date may be left out, as either end:
// those that overlap with it. `now_ns`: since 1970. Throws UsageError, which tells what there is,
// if it means none.
std::vector<std::int64_t> choose_epochs(const std::vector<Epoch>& epochs, const std::string& text,
                                        std::int64_t now_ns);
std::string time_text(std::int64_t time_ns);  // "2026-11-25 10:00:00", local
std::string utc_text(std::int64_t time_ns);   // "2026-11-25T10:00:00Z"

}  // namespace causalctl::continuous
