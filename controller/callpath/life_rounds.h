// The order in which words of the stacks are watched for the returns of calls, and what was found.
// Pure.
//
// In each round of a place each of its words is watched once, in random order, from a moment that
// does not depend on what the program does. So all its words have as many moments as there were
// rounds, and the lives found at all of them together are those of ResidualLives. The places whose
// thread can be watched take turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "controller/base/types.h"
#include "controller/callpath/life_survey.h"
#include "controller/callpath/recording.h"

namespace causalctl::callpath {

class LifeRounds {
 public:
  struct Probe {
    std::size_t place = 0;
    LifeTarget target;
  };
  enum class Found : std::uint8_t {
    life,     // a call was under way, and returned
    nothing,  // none was under way, or none returned in time
    unclear,  // the moment does not count, and the word is watched again
  };

  LifeRounds(std::vector<LifePlace> places, std::uint64_t seed);

  // Returns the next word that may be watched now, or nullopt. Each must be given back by done().
  std::optional<Probe> next(const std::function<bool(ThreadId)>& may_watch);
  void done(const Probe& probe, Found found, Nanoseconds life_ns);
  // Its places are not watched any more; the time is since the start of the recording.
  void thread_ended(ThreadId thread, Nanoseconds time_ns);
  void stop_all(Nanoseconds time_ns);

  const std::vector<WatchedCalls>& watched() const { return watched_; }

 private:
  struct Place {
    std::vector<LifeTarget> targets;
    double under_way_share = 0;  // as LifePlace has it
    bool open = true;
    unsigned unclear = 0;                 // in a row
    std::vector<LifeTarget> left{};       // to be watched in this round, the next one last
    std::size_t under_way = 0;            // of this round
    std::vector<Nanoseconds> lives_ns{};  // of the round
    std::uint64_t turns = 0;              // so far
  };

  void stop(Place& place, Nanoseconds time_ns);
  void end_round(Place& place);
  void begin_round(Place& place);
  WatchedCalls& watched_of(const Place& place) {
    return watched_[static_cast<std::size_t>(&place - places_.data())];
  }

  std::vector<Place> places_;
  std::vector<WatchedCalls> watched_;  // as places_
  std::mt19937_64 random_;
};

}  // namespace causalctl::callpath
