// The text of source lines, from the files as debug information names them. Shell.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace causalctl::commands {

class SourceLines {
 public:
  // Returns the line (from 1 on) without white space around it; empty if it is not there.
  std::string at(const std::string& file, int line);

 private:
  std::map<std::string, std::vector<std::string>> files_;
};

}  // namespace causalctl::commands
