// Becoming another program.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace causalctl {

// Executes `words` with our environment and `settings` over it; the program is looked for along the
// PATH that results. Returns only when that fails: the error number. In a forked child only.
int execute(std::vector<std::string> words, const std::map<std::string, std::string>& settings);

}  // namespace causalctl
