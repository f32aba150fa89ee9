// How causalctl ends when it is asked to, by SIGINT, SIGTERM or SIGHUP.
//
// One thread, the ender, takes these signals, from the first lines of main() on. It never waits for
// anything else, so that an end comes whatever the other threads are blocked in:
//
//   - Where nothing would be lost, outside of a scope of Interrupts, the process ends at once, by
//     the signal. What is in a target is undone by the guardian.
//   - In such a scope the request is counted, and the call in which the working thread (that of
//     begin_taking_signals()) sleeps is cut short. The work lets go of the target and goes on to
//     its report. A second request ends the process at once; so does work that goes on for 5 s.
//   - Behind such a scope, once asked, nothing may be waited for: if the working thread computes
//     nothing for half a second (ten where it writes a result to a disk), because a reader takes no
//     output or a file does not answer, the process ends.
#pragma once

#include <functional>
#include <list>

#include "controller/base/types.h"

namespace causalctl {

// How long anything may be waited for once the process was asked to end, which it does within 1 s.
inline constexpr Nanoseconds kPatienceOnceAsked = 300 * kMillisecond;

// Call it in main() before anything else is done or started, and at the start of a forked child
// that works as main() does. A SIGINT that was ignored is taken all the same: a shell without job
// control lets whatever it starts with `&` ignore it, but scripts end a profile by `kill -INT`. An
// ignored SIGHUP stays ignored (nohup). Throws Error if there can be no thread.
void begin_taking_signals();

// Gives the ender this real-time priority, where permitted; 0: none. REQUIRES: it has begun.
// A target of real-time priority on all cores must not keep the ender from them.
void raise_ender(int priority);

// A scope in which the end is not to come at once. Use it in the working thread only.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // Returns how often the process was asked to end; signals within 0.3 s are one request.
  static int count();
};

// While it lives, waiting for a file may take longer.
class PatienceWithFiles {
 public:
  explicit PatienceWithFiles(Nanoseconds patience_ns);
  ~PatienceWithFiles();
  PatienceWithFiles(const PatienceWithFiles&) = delete;
  PatienceWithFiles& operator=(const PatienceWithFiles&) = delete;
};

// Does something if the process ends at once: removes a file, ends a program.
class AtEnd {
 public:
  // `action` runs in the ender, while all other threads go on.
  explicit AtEnd(std::function<void()> action);
  ~AtEnd();
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;

 private:
  std::list<std::function<void()>>::iterator place_;
};

}  // namespace causalctl
