// Programs that only prepare another one and then become it by exec: env, taskset, a script.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace causalctl::commands {

// Returns whether a program that is started by these words may execute another one: one of them
// names an executable file, or a script or a text in which the word exec stands. Files are looked
// for as the program would: from its working `directory`, along `paths`.
bool may_execute_another(const std::vector<std::string>& words, const std::string& directory,
                         std::string_view paths);

}  // namespace causalctl::commands
