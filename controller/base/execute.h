// Becoming another program.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace causalctl {

// Returns the file that `word` names to a process whose working directory is `directory` (empty:
// ours): along `paths`, as PATH has them, where it has no slash. Returns an empty string if none
// may be executed.
std::string file_of_program(const std::string& word, std::string_view paths,
                            const std::string& directory = {});

// Returns along which paths execute() looks for a program: PATH of `settings` or of our
// environment, or without any the system's own.
std::string search_path(const std::map<std::string, std::string>& settings);

// Executes `words` in `directory` (empty: ours), with our environment and `settings` over it; the
// program is looked for along the PATH that results. It is no longer the first to be ended where
// memory runs out (oom_score.h). Throws UsageError that names what failed. For a forked child.
[[noreturn]] void execute(std::vector<std::string> words,
                          const std::map<std::string, std::string>& settings,
                          const std::string& directory);

}  // namespace causalctl
