// What changes a watched process, from the first look at its state to the last: the guardian, the
// pause channel, causalctl's precedence on the cores, and the digest of the process's state, which
// must be the same before and after.
//
// The guardian outlives this object. If the work ends by an exception, it undoes what is in the
// process.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "controller/pause/pauser.h"
#include "controller/session/precedence.h"
#include "controller/session/recording.h"
#include "controller/tracee/code_bytes.h"
#include "controller/tracee/end_watch.h"
#include "controller/tracee/guardian/guardian.h"

namespace causalctl::session {

inline constexpr const char* kGuardianKilled =
    "something killed the guardian process, so the run was ended early";
inline constexpr const char* kGuardianKilledAtEnd =
    "something killed the guardian process while it undid what it had done to the target; another "
    "one was to go on";

class Intervention {
 public:
  // REQUIRES: the guardian has adopted the target. All outlive this object; so does the precedence
  // all events on the target, which an ordinary thread may not get a core to close.
  Intervention(Pid target, tracee::Guardian& guardian, Precedence& precedence,
               Recording& recording);
  Intervention(const Intervention&) = delete;
  Intervention& operator=(const Intervention&) = delete;

  // From here on the calling thread comes to a core before those of the target. `places` are those
  // of the code that events may change.
  void begin(const std::vector<Address>& places);
  // Throws Error if no channel can pause the target, and TargetGone with the cause that the end
  // tells.
  const pause::PauserChoice& open_pauses(const pause::PauserOptions& options,
                                         const tracee::EndWatch& end);
  // Returns whether the run must end, since the guardian was killed, or since threads of the target
  // may keep causalctl from the cores, which it records.
  bool must_end();
  // Takes what is in the target out of it, and does nothing else.
  void abandon();
  // Closes the pause channel's events. Then the guardian takes the stub out, while `close_events`
  // runs in another thread. At last the state is compared with that of before; at the addresses of
  // `uprobes`, which were ours, nothing may be left. REQUIRES: the recording's reason is known.
  void end(const std::function<void()>& close_events, const std::vector<Address>& uprobes);

 private:
  void restore(const std::function<void()>& close_events);
  std::vector<std::string> changes_in(const tracee::Digest& after,
                                      const std::vector<Address>& uprobes) const;
  void compare_digests(const std::vector<Address>& uprobes);

  Pid target_;
  tracee::Guardian& guardian_;
  Recording& recording_;
  Precedence& precedence_;
  std::vector<Address> places_;
  tracee::Digest before_;
  std::vector<tracee::CodeBytes> code_before_;
  bool outranked_ = false;
  std::vector<std::string> left_;  // in the target, as Guardian::restore() tells
  pause::PauserChoice pauses_;     // destroyed first
};

}  // namespace causalctl::session
