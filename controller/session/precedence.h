// Lets causalctl's own thread come to a core before the threads of the target, from the attach to
// the detach. A late controller falsifies experiments, and one that gets no core lets nothing go.
//
// The thread gets the lowest real-time priority above those of the target (tracee/guardian/
// precedence.h), or, where none is permitted, a nice value. It sleeps most of the time. In case it
// does not, the kernel tells it after 200 ms without a sleep (RLIMIT_RTTIME), and it is an ordinary
// thread until the guardian, which looks four times a second while something is in the target,
// raises it again. Threads that it starts do not inherit the priority.
#pragma once

#include <sys/resource.h>

#include <cstddef>
#include <optional>
#include <string>

#include "controller/base/types.h"
#include "controller/tracee/guardian/precedence.h"
#include "controller/tracee/guardian/priority_boost.h"

namespace causalctl::session {

class Precedence {
 public:
  // Looks at the target and tries the priority. Throws Error if threads of the target could keep
  // causalctl from all cores.
  explicit Precedence(Pid target);
  Precedence(const Precedence&) = delete;
  Precedence& operator=(const Precedence&) = delete;
  ~Precedence() { end(); }

  void begin();  // of the calling thread
  void end();    // in the same thread

  int priority() const { return priority_; }
  // For another thread of causalctl, which has the priority for as long as the object lives.
  tracee::PriorityBoost boost() const { return tracee::PriorityBoost(0, priority_); }

  // Looks again, a few times a second. Returns why the run must end, or an empty string.
  const std::string& lost();

 private:
  Pid target_;
  tracee::LookAgain again_;
  tracee::Claims claims_;
  std::size_t cores_;  // that causalctl may use
  int priority_;
  std::string lost_;
  std::optional<tracee::PriorityBoost> boost_;
  std::optional<int> nice_before_;
};

}  // namespace causalctl::session
