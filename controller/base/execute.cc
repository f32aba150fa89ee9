#include "controller/base/execute.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "controller/base/error.h"

namespace causalctl {

void execute(std::vector<std::string> words, const std::map<std::string, std::string>& settings,
             const std::string& directory) {
  const auto reason = [](int error) { return std::generic_category().message(error); };
  if (!directory.empty() && chdir(directory.c_str()) != 0) {
    throw UsageError(fmt::format("cannot run in directory '{}': {}", directory, reason(errno)));
  }
  const std::string program = words.at(0);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  bool is_set = true;
  for (const auto& [name, value] : settings) {
    is_set = is_set && setenv(name.c_str(), value.c_str(), 1) == 0;
  }
  if (is_set) execvp(arguments[0], arguments.data());
  const int error = errno;
  throw UsageError(fmt::format("cannot run '{}': {}", program, reason(error)),
                   error == ENOENT ? "give the path of the program, or a name that is in PATH"
                                   : "is it an executable file that you may execute?");
}

}  // namespace causalctl
