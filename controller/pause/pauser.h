// How pauses reach threads. Two channels have one interface:
//   - sigtrap: a perf event armed for one shot makes the thread run the injected stub, as soon as
//     it has run a little longer and is in user code (sigtrap_channel.h);
//   - ptrace: the guardian keeps the thread in a ptrace-stop, if the target does not allow the
//     first.
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
  Nanoseconds end_ns = 0;   // == start_ns if the shot came too late and was void
  Nanoseconds cost_ns = 0;  // what a void shot cost the thread (shot_cost.h)
  bool awake = false;       // true if the thread spun, using CPU time while it had a core
};

struct LastPause {
  Tid tid = 0;
  Nanoseconds at_ns = 0;  // when the pause ended, or was requested if that is not known
};

struct PauseTotals {
  Nanoseconds asked_ns = 0;  // sum of the debts for which pauses were requested and then paid
  Nanoseconds paid_ns = 0;
  std::uint64_t pauses = 0;
  std::uint64_t stale = 0;  // void shots: they came too late
};

class Pauser {
 public:
  virtual ~Pauser() = default;

  virtual void add_thread(Tid tid) = 0;  // a thread that is gone is ignored
  virtual void remove_thread(Tid tid) = 0;

  // Reports that a sample has found the thread with this stack pointer.
  virtual void sampled(Tid /*tid*/, Address /*stack_pointer*/) {}

  // While this is on, pauses that begin spin instead of sleeping, so that their threads keep their
  // share of the cores. If spinning is not safe for a thread, or not possible, it sleeps
  // nevertheless.
  virtual void stand_awake(bool /*on*/) {}
  // Returns whether this instruction in the target belongs to a pause.
  virtual bool in_stub(Address /*instruction*/) const { return false; }

  // `debt_ns` is the whole debt of the thread after all that collect() has returned so far. A pause
  // under way is prolonged or shortened (by ptrace: neither); otherwise one begins when the thread
  // next runs user code. A pause lasts at most `longest`. debt_ns <= 0 forgives the part that has
  // not been slept yet.
  virtual void set_debt(Tid tid, Nanoseconds debt_ns, Nanoseconds now_ns) = 0;

  // Returns the pauses that have ended since the last call, in time order.
  virtual std::vector<Paid> collect(Nanoseconds now_ns) = 0;

  virtual bool pausing(Tid tid) const = 0;   // requested, and not ended as of the last collect()
  virtual bool standing(Tid tid) const = 0;  // requested, begun and not ended
  virtual bool idle() const = 0;             // true if no thread is standing
  // True if collect() checks whether the target can still bear a shot under way. It must then be
  // called often.
  virtual bool polls_target() const { return false; }
  virtual PauseTotals totals() const = 0;
  virtual std::optional<LastPause> last() const { return std::nullopt; }
  virtual std::string name() const = 0;  // "sigtrap" | "ptrace"
  // Returns what the user should be told at the end, one sentence each.
  virtual std::vector<std::string> notices() const { return {}; }
};

struct PauserOptions {
  std::string channel = "auto";  // auto | sigtrap | ptrace
  Nanoseconds longest_ns = 100 * kMillisecond;
  Nanoseconds stale_after_ns = 300 * kMicrosecond;
  unsigned slot_count = 1024;
  // What one pause costs its thread besides (shot_cost.h), if known; otherwise it is measured.
  std::optional<Nanoseconds> pause_cost_ns{};
};

struct PauserChoice {
  std::unique_ptr<Pauser> pauser;
  std::string reason;             // why not sigtrap, if auto fell back to ptrace
  std::vector<Trial> tried{};     // trials that the choice relies on
  Nanoseconds pause_cost_ns = 0;  // what one pause by this channel costs its thread besides
  Nanoseconds attach_stop_ns = 0;
};

// Returns why the stub must not, or cannot, be used in this target, or nullopt if it can. Throws
// TargetGone.
std::optional<std::string> sigtrap_obstacle(Pid target);

// Chooses the channel and injects the stub if it needs one. The caller adds the threads. The
// guardian must outlive the pauser.
PauserChoice make_pauser(Pid target, tracee::Guardian& guardian, const PauserOptions& options);

}  // namespace causalctl::pause
