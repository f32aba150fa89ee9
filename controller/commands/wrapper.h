// Programs that only prepare another one and then become it by exec: env, taskset, a script.
#pragma once

#include <string>
#include <vector>

namespace causalctl::commands {

// Returns whether a program that is started by these words may execute another one: one of them
// names an executable file, or a script or a text in which the word exec stands. Reads files.
bool may_execute_another(const std::vector<std::string>& words);

}  // namespace causalctl::commands
