// How pauses reach threads. Two channels behind one interface:
//   sigtrap: a perf event armed for one shot makes the thread run the injected stub, as soon as it
//            has run a little longer and is in user code (sigtrap_channel.h);
//   ptrace:  the guardian keeps the thread in a ptrace-stop, for targets where the first cannot be.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/trial.h"
#include "controller/base/types.h"
#include "controller/tracee/guardian/guardian.h"

namespace causalctl::pause {

struct Paid {
  Tid tid = 0;
  Nanoseconds start_ns = 0;
  Nanoseconds end_ns = 0;   // == start_ns: the shot came too late and was void
  Nanoseconds cost_ns = 0;  // what a void shot has cost the thread (shot_cost.h)
  bool awake = false;       // it spun, and used CPU time wherever it had a core
};

struct LastPause {
  Tid tid = 0;
  Nanoseconds at_ns = 0;  // when it was asked for, or, if that is known, ended
};

struct PauseTotals {
  Nanoseconds asked_ns = 0;  // sum of what was owed when it was asked for and then paid
  Nanoseconds paid_ns = 0;
  std::uint64_t pauses = 0;
  std::uint64_t stale = 0;  // shots that came too late and were void
};

class Pauser {
 public:
  virtual ~Pauser() = default;

  virtual void add_thread(Tid tid) = 0;  // a thread that is gone is ignored
  virtual void remove_thread(Tid tid) = 0;

  // A sample has found it with this stack pointer.
  virtual void sampled(Tid /*tid*/, Address /*stack_pointer*/) {}

  // Pauses that begin from now on spin instead of sleeping, so that their threads keep their share
  // of the cores; where that is not safe for a thread, or not possible, it sleeps all the same.
  virtual void stand_awake(bool /*on*/) {}
  // Whether this instruction of the target is a pause's.
  virtual bool in_stub(Address /*instruction*/) const { return false; }

  // The thread owes `debt_ns` in all, as seen with every Paid that collect() has returned. Where a
  // pause is under way it is prolonged or shortened (by ptrace: neither); else one is begun when
  // the thread next runs user code. Bounded by `longest`. debt_ns <= 0 forgives what is not yet
  // slept.
  virtual void set_debt(Tid tid, Nanoseconds debt_ns, Nanoseconds now_ns) = 0;

  // Pauses that have ended since the last call, in time order.
  virtual std::vector<Paid> collect(Nanoseconds now_ns) = 0;

  virtual bool pausing(Tid tid) const = 0;   // asked for, and not ended as of the last collect()
  virtual bool standing(Tid tid) const = 0;  // … asked for, begun and not ended
  virtual bool idle() const = 0;             // no thread is standing
  // collect() checks whether the target can still bear a shot under way: it must be called often.
  virtual bool polls_target() const { return false; }
  virtual PauseTotals totals() const = 0;
  virtual std::optional<LastPause> last() const { return std::nullopt; }
  virtual std::string name() const = 0;  // "sigtrap" | "ptrace"
  // What the user should be told at the end: one sentence each.
  virtual std::vector<std::string> notices() const { return {}; }
};

struct PauserOptions {
  std::string channel = "auto";  // auto | sigtrap | ptrace
  Nanoseconds longest_ns = 100 * kMillisecond;
  Nanoseconds stale_after_ns = 300 * kMicrosecond;
  unsigned slot_count = 1024;
  // Of one pause to its thread besides (shot_cost.h), where it is known; else it is measured.
  std::optional<Nanoseconds> pause_cost_ns{};
};

struct PauserChoice {
  std::unique_ptr<Pauser> pauser;
  std::string reason;             // why not sigtrap, when auto fell back to ptrace
  std::vector<Trial> tried{};     // what the choice relies on
  Nanoseconds pause_cost_ns = 0;  // of one pause to its thread besides, as this channel makes it
  Nanoseconds attach_stop_ns = 0;
};

// Why the stub must not, or cannot, be used in this target; nullopt: it can. Throws TargetGone.
std::optional<std::string> sigtrap_obstacle(Pid target);

// Chooses the channel, injects where needed. Threads are added by the caller. The guardian must
// outlive the pauser.
PauserChoice make_pauser(Pid target, tracee::Guardian& guardian, const PauserOptions& options);

}  // namespace causalctl::pause
