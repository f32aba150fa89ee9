// Finds the processes that the target converses with: those that its threads wake, and that wake
// its threads. Pure.
//
// The target's own records tell what it wakes, but not reliably: a wake-up made by an interrupt, or
// by the softirq after it, is charged to the thread that runs just then. So a busy process beside
// the target seems to be woken by it. A process that is woken often is therefore only a candidate,
// and the wake-ups that it makes are watched during a trial. It is a peer once it has woken threads
// of the target several times, and at least once per kWakesPerAnswer times that it was woken. A
// process that is no peer by the end of its trial is not tried again for a while.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::perf {

// This many recent wake-ups of one thread by the target make its process a candidate.
inline constexpr std::uint64_t kWokenOften = 20;
inline constexpr Nanoseconds kForgetWakes = 10 * kSecond;

inline constexpr Nanoseconds kTrial = 5 * kSecond;
inline constexpr std::uint64_t kAnswers = 5;          // at least this many in a trial
inline constexpr std::uint64_t kWakesPerAnswer = 20;  // at most this many
inline constexpr Nanoseconds kRest = 10 * kSecond;    // after a trial that showed no peer

class PeerTrials {
 public:
  void woken(Tid tid) { ++wakes_[tid]; }  // by the target; not called for a process on trial
  // Returns threads that were woken often, each once in kForgetWakes.
  std::vector<Tid> take_woken_often(Nanoseconds now_ns);

  // Returns false if its last trial was too recently, or it is on trial.
  bool begin(Pid process, Nanoseconds now_ns);
  void end(Pid process) { trials_.erase(process); }  // the process is gone, or cannot be watched

  void asked(Pid process);     // the target has woken one of its threads; ignored if not on trial
  void answered(Pid process);  // one of its threads has woken one of the target's
  // Ends the trials whose time is over. Returns those processes that are peers.
  std::vector<Pid> take_peers(Nanoseconds now_ns);

  std::vector<Pid> on_trial() const;
  bool on_trial(Pid process) const { return trials_.contains(process); }

 private:
  struct Trial {
    Nanoseconds end_ns = 0;
    std::uint64_t asked = 0, answered = 0;
  };

  std::unordered_map<Tid, std::uint64_t> wakes_;
  std::set<Tid> taken_;  // since wakes_ was last cleared
  Nanoseconds forget_at_ns_ = 0;
  std::map<Pid, Trial> trials_;
  std::map<Pid, Nanoseconds> rests_until_ns_;
};

}  // namespace causalctl::perf
