// The guardian: a small helper process, in its own session, that does everything that touches the
// target by ptrace, and undoes all of it when the controller closes its end of the socket, dies or
// asks for it. It is forked before the controller opens perf events or starts threads, so that it
// keeps none of them alive.
//
// Where the guardian itself is killed, restore() and the destructor start another one, which finds
// the stub by its bytes and removes it. Where controller and guardian are killed at once, the page
// and the handler stay, and nothing is armed any more.
//
// It can leave in the target: one mapping (the stub's code page and its slots) and the handler of
// SIGTRAP. Both are gone after restore().
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/stopped_calls.h"
#include "controller/base/types.h"
#include "controller/tracee/digest.h"
#include "controller/tracee/guardian/launch.h"
#include "controller/tracee/guardian/stop_pauses.h"
#include "controller/tracee/inject/stub.h"

namespace causalctl::tracee {

class Guardian {
 public:
  Guardian();  // forks the helper; throws Error
  // Closes the channel and waits until the helper has undone everything. A launched program that
  // was not released is killed: nobody wants one that runs although its profile could not begin.
  ~Guardian();
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  // Chooses the target. Throws Error naming what forbids it: no such process (TargetGone, exit 3),
  // permission (Yama, uid, capability), 32-bit, already traced (by whom), profiled by another
  // causalctl, kernel thread, zombie. Removes the stub that a killed one has left (left_stub.h).
  void adopt(Pid target);

  // Starts a program and stops it before its first instruction; it is then adopted. Throws Error
  // if it cannot be executed.
  Pid launch(const Launch& launch);
  // Lets it run until its loader is done, before its own first instruction (run_suspended.h), and
  // suspends it there. Where that is impossible it stays where it is, and the reason is returned.
  // Throws TargetGone if it ends on the way, Error if it does not arrive.
  std::optional<std::string> run_to_entry();
  void release();             // lets a launched program run
  bool is_suspended() const;  // a program was launched, and not released
  // Returns the status of a launched program as wait(2) gives it, once it has ended.
  std::optional<int> exit_status();

  // Maps the stub and installs its handler. Throws Error, with EBUSY where the target has a handler
  // of SIGTRAP of its own.
  Injection inject(unsigned slot_count);

  // Pauses by ptrace: stops the thread for this duration, if it is in user mode. Does not wait.
  void pause(Tid tid, Nanoseconds duration_ns);
  std::vector<StopPause> finished_pauses();

  // Undoes inject() and every pause; REQUIRES that all sigtrap events on the target are closed.
  // Returns what could not be undone (empty: all is as before), and whether a target that was
  // stopped was resumed by us. Where the helper is killed meanwhile, another one goes on; where
  // that is impossible, the destructor tries once more. May be called twice.
  std::vector<std::string> restore();

  // True where something has killed the helper, so that the run should end, even if another process
  // has taken its place since (restore()).
  bool was_killed() const;

  Pid helper() const;  // its process

  // As of the last inject() or restore().
  StoppedCalls stopped_calls() const;

  // Includes the pages of `places`, the addresses of progress points.
  Digest digest(const std::vector<Address>& places = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace causalctl::tracee
