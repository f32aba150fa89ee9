// Watches calls that are under way until they return, which tells how often such calls are made
// (residual.h).
//
// The first seconds of samples choose words of the stacks that hold return addresses
// (life_survey.h). Then each is watched again and again, from a random moment on (life_rounds.h).
// If the first access to the word is the return that belongs there, a call was under way at that
// moment, and the time between is what was left of its life. If it is a write, by the next call,
// none was.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "controller/callpath/life_rounds.h"
#include "controller/callpath/life_survey.h"
#include "controller/callpath/recording.h"
#include "controller/perf/events.h"
#include "controller/perf/slot_watch.h"

namespace causalctl::callpath {

class Lives {
 public:
  // The recording must outlive it.
  Lives(Recording& recording, std::uint64_t seed) : recording_(recording), seed_(seed) {}

  void start(Nanoseconds time_ns) { start_ns_ = time_ns; }  // of the recording
  // A sample of CPU time; `node` is the end of its path.
  void sampled(const perf::SampleEvent& sample, const unwind::Chain& chain, NodeId node);
  void take(const perf::Event& event);  // in time order
  // Looks at what was watched, and watches other words. All events up to `drained_ns` were taken.
  void step(Nanoseconds now_ns, Nanoseconds drained_ns);
  void update();  // writes what was found so far into the recording
  void finish();  // tells if no calls were watched

 private:
  struct Watched {  // a word of a thread's stack
    LifeRounds::Probe probe;
    Nanoseconds since_ns = 0;
    perf::SwitchKind state = perf::SwitchKind::in;  // of the thread at that time
  };
  // Of a thread. There is one, as setting a second watch interrupts the thread for some 20 µs, by
  // which the life that the first one sees would be longer.
  struct Register {
    perf::SlotWatch watch;
    std::optional<Watched> watched{};
    Nanoseconds free_ns = 0;  // from when on another word may be watched
  };

  void changed(ThreadId thread, perf::SwitchKind kind, Nanoseconds time_ns);
  void woken(const perf::WakeEvent& wake);
  void begin(Nanoseconds now_ns);
  void executed(Nanoseconds time_ns);
  bool has_ended(Register& each, Nanoseconds now_ns, Nanoseconds drained_ns);
  bool may_watch(ThreadId thread, Nanoseconds now_ns);
  void watch(const LifeRounds::Probe& probe);

  Recording& recording_;
  std::uint64_t seed_;
  Nanoseconds start_ns_ = 0;
  Nanoseconds begin_ns_ = 0;  // of the survey
  LifeSurvey survey_;
  std::optional<LifeRounds> rounds_;
  std::map<ThreadId, Register> registers_;
  struct State {
    perf::SwitchKind kind = perf::SwitchKind::in;
    Nanoseconds woken_ns = 0;  // when the thread was woken last while it was on its core
  };
  std::map<ThreadId, State> states_;
  bool told_ = false;  // that words of some thread cannot be watched
};

}  // namespace causalctl::callpath
