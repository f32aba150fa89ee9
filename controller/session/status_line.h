// The live status of a run, on standard error: on a terminal one line that is rewritten, otherwise
// a line every ten seconds. --quiet: nothing.
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

  bool due() const;  // whether show() would show anything by now
  void show(std::string text);
  void clear();  // takes the line off, so that messages stand alone

 private:
  bool quiet_;
  bool terminal_;
  bool shown_ = false;
  Nanoseconds last_ns_ = 0;
};

}  // namespace causalctl::session
