// How a command says that it can be measured: by words in its output, or a port that accepts
// connections.
#pragma once

#include <re2/re2.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "controller/base/types.h"

namespace causalctl::compare {

// Finds the first line that matches, in an output that is given piece by piece.
class ReadyPattern {
 public:
  // `pattern` has at most one group, and the caller has checked it (config/pattern.h).
  explicit ReadyPattern(const std::string& pattern);

  struct Match {
    Pid pid = 0;  // what the group matched; 0 if there is none, or it is no number
  };
  // `text` is the output since the last call. It is searched line by line; a carriage return ends a
  // line, too, because a display of progress draws the next one over it. Of a line that is longer
  // than 64 KiB a match may be no longer than that. A line that is still being written is searched
  // if `pattern` has no group, or if the beginning of the line is to be forgotten.
  std::optional<Match> find(std::string_view text);

 private:
  std::optional<Match> search(bool complete) const;

  re2::RE2 regex_;
  std::string line_;       // the part of the current line that is known and kept
  std::size_t begin_ = 0;  // where in line_ a match may begin
};

bool port_is_open(unsigned port);  // of the loopback interface, IPv4 or IPv6
// Throws UsageError if a server already listens there, which would be taken for the one to be
// started.
void require_free(unsigned port, const std::string& what);

}  // namespace causalctl::compare
