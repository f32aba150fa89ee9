// Pauses by ptrace-stop: many threads stand still at once, each until its deadline. Only the
// guardian uses them. Its loop calls on_stop() for every wait status of a thread for which owns()
// is true, and on_time() when next_deadline_ns() has come.
//
// A thread stays stopped only if the stop found it in user mode or with a finished system call. A
// thread that blocks in a call is let go at once; the call is rewound where the interrupt made it
// return EINTR.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "controller/base/types.h"
#include "controller/tracee/stop.h"

namespace causalctl::tracee {

// A pause that has ended: the thread stood still from start to end.
struct StopPause {
  Tid tid = 0;
  Nanoseconds start_ns = 0;
  Nanoseconds end_ns = 0;  // == start_ns: it could not be stopped in user mode, or is gone
};

class StopPauses {
 public:
  void start(Pid target, Tid tid, Nanoseconds duration_ns);
  bool owns(Tid tid) const { return under_way_.contains(tid); }
  void on_stop(Tid tid, const Stop& stop);
  void on_time(Nanoseconds now_ns);
  std::optional<Nanoseconds> next_deadline_ns() const;

  // Ends every pause now. Threads that have not stopped yet stay owned until they do.
  void end_all();
  bool empty() const { return under_way_.empty(); }

  std::vector<StopPause> take_finished();

 private:
  struct UnderWay {
    Nanoseconds duration_ns = 0;
    Nanoseconds start_ns = 0;
    std::optional<Nanoseconds> until_ns;  // set once it stands still
  };

  void finish(Tid tid, const UnderWay& pause, Nanoseconds end_ns);

  std::map<Tid, UnderWay> under_way_;
  std::vector<StopPause> finished_;
};

}  // namespace causalctl::tracee
