// Suppresses a shot in the kernel in three cases: the target's disposition of SIGTRAP is not our
// handler; the thread is under seccomp or dispatches system calls itself (Wine), which may end it
// when the stub makes a system call; or the thread blocks SIGTRAP, so that the signal would reach
// it in a system call of its own that waits for signals.
//
// A target may reset SIGTRAP to its default at any time, and the next shot would then end it. No
// check from outside excludes that, because a process switch lies between the check and the shot.
// So the shot itself makes the check: a BPF program on the event runs in the interrupt that fires
// it, on the thread that would get the signal. It reads current->sighand->action[SIGTRAP],
// current->seccomp.mode, the signal mask and so on. The interrupt comes in user code, so the stack
// pointer that it has saved is the one below which the signal's frame goes. What remains is the
// time from there to the delivery, some 5 us (docs/safety.md has the measurement), in which another
// thread would have to reset the handler; the thread that is shot cannot.
//
// The kernel's BTF says where these fields are in its structs. Since Linux 6.11 a program that
// returns 0 suppresses the signal too, not just the record; on older kernels, and without CAP_BPF
// and CAP_PERFMON, there is no filter. Sources: bpf(2), bpf-helpers(7), PERF_EVENT_IOC_SET_BPF in
// perf_event_open(2).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "controller/base/trial.h"
#include "controller/base/types.h"
#include "controller/pause/stack_room.h"
#include "controller/perf/event.h"

namespace causalctl::pause {

class ShotFilter {
 public:
  // Why no shot may be fired any more. A filter never says `stack`, because it can decide that each
  // time.
  enum class Obstacle { none, handler, seccomp, dispatch, stack };

  struct Place {  // where a thread was when its shot was suppressed
    Address stack_pointer = 0;
    Address control_block = 0;  // fs, by which the C library finds its thread; 0 if none
  };

  // Returns nullopt if there can be none here; `reason` says why, and trial() is one of the
  // reasons. REQUIRES, like those below: no other call at the same time.
  static std::optional<ShotFilter> make(Address handler, std::string& reason);

  // Shows whether this kernel's filter really suppresses shots: a program runs at an event on a
  // thread of our own, and its map tells the result. During this we handle SIGTRAP, for some
  // milliseconds, or a quarter of a second if the machine stalls.
  static Trial try_out();
  static const Trial& trial();  // the same trial, made once in this process
  // Shots are told apart by their periods, shot_period(slot).
  static constexpr unsigned kSlots = 1024;  // SHOT_SLOTS of bpf/shot_filter.h
  static Nanoseconds shot_period(unsigned slot);

  ~ShotFilter();
  ShotFilter(ShotFilter&&) noexcept;
  ShotFilter& operator=(ShotFilter&&) noexcept;

  void attach(const perf::EventFd& shot) const;
  // Sets where the thread of this slot may be shot, other than on an alternate stack; nullopt:
  // nowhere.
  void set_stack(unsigned slot, const std::optional<StackRange>& range);
  // Returns where the shot of this slot was suppressed for want of stack since the last call. The
  // shot stays armed and fires as soon as there is room.
  std::optional<Place> take_suppressed_for_stack(unsigned slot);

  // Returns why the last shot, on any thread, was suppressed. It stays armed, so it must be closed.
  // A shot suppressed because of the signal mask is not reported: it fires once the thread does not
  // block SIGTRAP.
  Obstacle obstacle() const;

 private:
  struct Program;

  ShotFilter();
  static std::optional<ShotFilter> load(Address handler, std::string& reason);
  static std::optional<bool> suppresses();

  std::unique_ptr<Program> program_;
};

}  // namespace causalctl::pause
