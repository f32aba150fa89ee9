// Turns the calling process into another program.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace causalctl {

// Executes `words` with our environment, in which `settings` replace or add variables; the program
// is looked for along the resulting PATH. Call it only in a forked child. Returns only on failure,
// with the error number.
int execute(std::vector<std::string> words, const std::map<std::string, std::string>& settings);

}  // namespace causalctl
