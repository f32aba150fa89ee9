// Becoming another program.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace causalctl {

// Executes `words` in `directory` (empty: ours), with our environment and `settings` over it; the
// program is looked for along the PATH that results. It is no longer the first to be ended
// where memory runs out (oom_score.h). Throws UsageError that names what failed. For
// a forked child.
[[noreturn]] void execute(std::vector<std::string> words,
                          const std::map<std::string, std::string>& settings,
                          const std::string& directory);

}  // namespace causalctl
