// How a command says that it can be measured: words in its output, a port that accepts connections.
#pragma once

#include <optional>
#include <regex>
#include <string>
#include <string_view>

#include "controller/base/types.h"

namespace causalctl::compare {

// Looks for the first line that matches, in an output that is given piece by piece.
class ReadyPattern {
 public:
  // ECMAScript, with at most one group; checked before.
  explicit ReadyPattern(const std::string& pattern) : regex_(pattern) {}

  struct Match {
    Pid pid = 0;  // what the group matched; 0: there is none, or it is no number
  };
  // `text`: what came after that of the last call. Searched line by line: what a pattern cannot
  // cross cannot make it slow either; of a long line only the beginning. A line that is still being
  // written is looked at only where `pattern` has no group.
  std::optional<Match> find(std::string_view text);

 private:
  std::optional<Match> search() const;

  std::regex regex_;
  std::string line_;  // as far as it is known, and looked at
};

bool port_is_open(unsigned port);  // of the loopback, IPv4 or IPv6
// A server that is there already would be taken for the one to be started. Throws UsageError.
void require_free(unsigned port, const std::string& what);

}  // namespace causalctl::compare
