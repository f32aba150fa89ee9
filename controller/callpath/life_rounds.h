// The order in which words of the stacks are watched for the returns of calls, and what was found.
// Pure.
//
// In each round every word is watched once, in random order, from a moment that does not depend on
// what the program does. A place has as many moments as there were rounds, whichever of its words
// were watched then, so that the lives found at all of them together are those of ResidualLives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
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
  void thread_ended(ThreadId thread);  // its places are not watched any more

  const std::vector<WatchedCalls>& watched() const { return watched_; }
  bool is_watching() const;  // false: there is nothing to do any more

 private:
  struct Place {
    std::vector<LifeTarget> targets;
    bool open = true;
    unsigned unclear = 0;                 // in a row
    std::vector<Nanoseconds> lives_ns{};  // of the round
  };

  void stop(Place& place);
  void end_round();
  void begin_round();

  std::vector<Place> places_;
  std::vector<WatchedCalls> watched_;  // as places_
  std::deque<Probe> queue_;
  std::size_t under_way_ = 0;
  std::mt19937_64 random_;
};

}  // namespace causalctl::callpath
