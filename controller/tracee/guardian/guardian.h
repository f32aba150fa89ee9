// The guardian: a small helper process, in its own session, that does everything that touches the
// target by ptrace, and undoes all of it when the controller closes its end of the socket, dies or
// asks for it. It is forked before the controller opens perf events or starts threads, so it keeps
// none of them alive.
//
// Where the guardian itself is killed, restore() and the destructor start another one, which finds
// the stub by its bytes and removes it. Where controller and guardian are killed at once, the page
// and the handler stay, and nothing is armed any more.
//
// What it can leave in the target: one mapping (the stub's code page and its slots) and the handler
// of SIGTRAP. Both are gone after restore().
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/fd.h"
#include "controller/base/stopped_calls.h"
#include "controller/base/types.h"

namespace causalctl::tracee {

// Where the stub is in the target, see stub.S and slot.h.
struct Injection {
  Address code = 0;
  Address slots = 0;  // array of Slot
  unsigned slot_count = 0;
  Nanoseconds stop_ns = 0;  // how long the one stopped thread was stopped
};

// A pause by ptrace-stop that has ended: the thread stood still from start to end.
struct StopPause {
  Tid tid = 0;
  Nanoseconds start_ns = 0;
  Nanoseconds end_ns = 0;  // == start_ns: it could not be stopped in user mode, or is gone
};

struct Launch {  // what `causalctl run` starts
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;  // over ours
  std::string directory;                           // empty: ours
};

// State of the target before attach and after detach, as sorted lines "name: value"; what is in it,
// and whose doing a difference can be: digest.h.
struct Digest {
  std::vector<std::string> lines;   // a difference is our doing
  std::vector<std::string> others;  // … the target's own
};
std::vector<std::string> differences(const Digest& before, const Digest& after);
std::vector<std::string> own_changes(const Digest& before, const Digest& after);

class Guardian {
 public:
  Guardian();  // forks the helper; throws Error
  // Closes the socket and waits until the helper has undone all. A launched program that was not
  // released is killed.
  ~Guardian();
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  // Chooses the target. Throws Error naming what forbids it: no such process (TargetGone, exit 3),
  // permission (Yama, uid, capability), 32-bit, already traced (by whom), profiled by another
  // causalctl, kernel thread, zombie. Removes the stub that a killed one has left (left_stub.h).
  void adopt(Pid target);

  // Starts a program and stops it before its first instruction; it is then adopted. Throws Error
  // when it cannot be executed.
  Pid launch(const Launch& launch);
  // Lets it run until its loader is done, before its own first instruction (run_suspended.h), and
  // suspends it there. Returns why it was left where it is, where that cannot be. Throws TargetGone
  // when it ends on the way, Error when it does not come there.
  std::optional<std::string> run_to_entry();
  void release();             // lets a launched program run
  bool is_suspended() const;  // launched, and not released
  // Exit status of a launched program as wait(2) gives it, once it has ended.
  std::optional<int> exit_status();

  // Maps the stub and installs its handler. Throws Error, with EBUSY where the target has a handler
  // of SIGTRAP of its own.
  Injection inject(unsigned slot_count);

  // ptrace channel: stop this thread for so long, if it is in user mode. Asynchronous.
  void pause(Tid tid, Nanoseconds duration_ns);
  std::vector<StopPause> finished_pauses();

  // Undoes inject() and every pause; REQUIRES that all sigtrap events on the target are closed.
  // Returns what could not be undone (empty: all is as before), and whether a target that was
  // stopped was resumed by us. Safe to call twice.
  std::vector<std::string> restore();

  // Something has killed the helper: the run should end. Also true when another process has taken
  // its place since (restore()).
  bool was_killed() const;

  Pid helper() const;  // its process

  // As of the last inject() or restore().
  StoppedCalls stopped_calls() const;

  // `places`: addresses of progress points, whose pages are looked at, too.
  Digest digest(const std::vector<Address>& places = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace causalctl::tracee
