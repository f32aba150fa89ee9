// Suppresses a shot in the kernel when the target's disposition of SIGTRAP is not our handler; when
// the thread is under seccomp, or dispatches system calls itself (Wine), which may end it for those
// of the stub; or when it blocks SIGTRAP, which would then meet it in a system call of its own that
// waits for signals.
//
// A target may reset SIGTRAP to its default at any time, and then the next shot would end it. No
// check from outside can exclude that: between the check and the shot lies a switch of processes.
// So the check is made by the shot itself: a BPF program on the event runs in the interrupt that
// fires it, on the thread that would get the signal, reads current->sighand->action[SIGTRAP],
// current->seccomp.mode, the mask of signals and so on. The interrupt is in user code, so the stack
// pointer that it has saved is the one that the signal's frame goes below. What is left is the way
// from there to the delivery, some 5 us (docs/safety.md has the measurement), in which another
// thread must reset the handler; the thread that is being shot cannot.
//
// Where in the kernel's structs these fields are, its BTF says. Since Linux 6.11 a program that
// returns 0 suppresses the signal too, not just the record; before, and without CAP_BPF and
// CAP_PERFMON, there is no filter. Sources: bpf(2), bpf-helpers(7), PERF_EVENT_IOC_SET_BPF in
// perf_event_open(2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "controller/base/fd.h"
#include "controller/base/trial.h"
#include "controller/base/types.h"
#include "controller/pause/stack_room.h"
#include "controller/perf/bpf_program.h"
#include "controller/perf/event.h"

namespace causalctl::pause {

class ShotFilter {
 public:
  // Why no shot may be fired any more; `stack`: never said by a filter, which can tell each time.
  enum class Obstacle { none, handler, seccomp, dispatch, stack };

  struct Place {  // where a thread was when its shot was suppressed
    Address stack_pointer = 0;
    Address control_block = 0;  // fs, by which the C library knows its thread; 0: none
  };

  // nullopt: `reason` says why there can be none here; trial() is one. REQUIRES, as those below: no
  // other call at the same time.
  static std::optional<ShotFilter> make(Address handler, std::string& reason);

  // Whether this kernel's filter really suppresses shots: a program runs at an event on a thread of
  // our own, and its map shows it. SIGTRAP is handled by us meanwhile, for some milliseconds, where
  // the machine stalls for a quarter of a second.
  static Trial try_out();
  static const Trial& trial();  // the same, made once in this process
  // Of shots that are told apart by their periods: shot_period(slot).
  static constexpr unsigned kSlots = 1024;
  static Nanoseconds shot_period(unsigned slot);

  void attach(const perf::EventFd& shot) const { shot.set_program(program_.get()); }
  // Where the thread of this slot may be shot, but for an alternate stack; nullopt: nowhere.
  void set_stack(unsigned slot, const std::optional<StackRange>& range);
  // Of this slot, since the last call: its shot was suppressed, for want of room. It stays armed,
  // and fires as soon as there is.
  std::optional<Place> take_suppressed_for_stack(unsigned slot);

  // Of the last shot that was suppressed, on whatever thread. It stays armed: it is to be closed.
  // One that is suppressed because of a mask is not told of: it fires once the thread does not
  // block it.
  Obstacle obstacle() const;

 private:
  static std::optional<ShotFilter> load(Address handler, std::string& reason);
  static std::optional<bool> suppresses();

  perf::BpfValue shared_;
  Fd program_;
};

}  // namespace causalctl::pause
