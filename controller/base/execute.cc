#include "controller/base/execute.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace causalctl {

int execute(std::vector<std::string> words, const std::map<std::string, std::string>& settings) {
  for (const auto& [name, value] : settings) {
    if (setenv(name.c_str(), value.c_str(), 1) != 0) return errno;
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  return errno;
}

}  // namespace causalctl
