// Windows of processes that ran before: their points stay armed from one run to the next. So what
// is in flight when a window begins was seen to begin, also requests that are longer than windows.
#pragma once

#include <cstdint>
#include <map>

#include "config/config.h"
#include "controller/base/types.h"
#include "controller/compare/window.h"

namespace causalctl::compare {

class KeptWindows {
 public:
  // Returns the window of the process; it may be armed already. Throws as Window().
  Window& of(const config::Progress& progress, Pid pid, std::uint64_t seed);
  // Returns whether of() would arm the points.
  bool would_arm(Pid pid);
  // Must be called once every kCollectEvery, also while another process is measured.
  void collect();

 private:
  std::map<Pid, Window> windows_;
};

}  // namespace causalctl::compare
