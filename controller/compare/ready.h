// How a command says that it can be measured: words in its output, a port that accepts connections.
#pragma once

#include <optional>
#include <regex>
#include <string>

#include "controller/base/types.h"

namespace causalctl::compare {

class ReadyPattern {
 public:
  // ECMAScript, with at most one group; checked before.
  explicit ReadyPattern(const std::string& pattern) : regex_(pattern) {}

  struct Match {
    Pid pid = 0;  // what the group matched; 0: there is none, or it is no number
  };
  // Searched line by line: what a pattern cannot cross cannot make it slow either. Only lines that
  // are complete are looked at, unless `pattern` has no group.
  std::optional<Match> find(const std::string& output) const;

 private:
  std::regex regex_;
};

bool port_is_open(unsigned port);  // of the loopback, IPv4 or IPv6
// A server that is there already would be taken for the one to be started. Throws UsageError.
void require_free(unsigned port, const std::string& what);

}  // namespace causalctl::compare
