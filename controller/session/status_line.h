// Shows the live status of a run on standard error. On a terminal it is one line that is rewritten,
// otherwise one line every ten seconds. With --quiet there is none.
#pragma once

#include <string>

#include "controller/base/types.h"

namespace causalctl::session {

class StatusLine {
 public:
  explicit StatusLine(bool quiet);
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  bool due() const;  // whether show() would show anything
  void show(std::string text);
  void clear();  // removes the line, so that messages stand alone

 private:
  bool quiet_;
  bool terminal_;
  bool shown_ = false;
  Nanoseconds last_ns_ = 0;
};

}  // namespace causalctl::session
