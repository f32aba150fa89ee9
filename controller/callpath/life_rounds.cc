#include "controller/callpath/life_rounds.h"

#include <algorithm>
#include <utility>

namespace causalctl::callpath {
namespace {

constexpr unsigned kMostUnclear = 50;  // in a row, of one place
constexpr std::uint64_t kInVain = 16;  // rounds after which a place without a return is given up

}  // namespace

LifeRounds::LifeRounds(std::vector<LifePlace> places, std::uint64_t seed) : random_(seed) {
  for (LifePlace& place : places) {
    watched_.push_back({place.call, 0, place.covered, {}});
    places_.push_back({std::move(place.targets)});
  }
  begin_round();
}

bool LifeRounds::is_watching() const { return !queue_.empty() || under_way_ > 0; }

std::optional<LifeRounds::Probe> LifeRounds::next(const std::function<bool(ThreadId)>& may_watch) {
  const auto free = std::find_if(queue_.begin(), queue_.end(),
                                 [&](const Probe& each) { return may_watch(each.target.thread); });
  if (free == queue_.end()) return std::nullopt;
  Probe probe = *free;
  queue_.erase(free);
  ++under_way_;
  return probe;
}

void LifeRounds::done(const Probe& probe, Found found, Nanoseconds life_ns) {
  --under_way_;
  Place& place = places_[probe.place];
  if (place.open && found == Found::unclear) {
    if (++place.unclear < kMostUnclear) {
      queue_.push_back(probe);
      return;
    }
    stop(place);
  }
  if (place.open) {
    place.unclear = 0;
    if (found == Found::life) place.lives_ns.push_back(life_ns);
  }
  if (queue_.empty() && under_way_ == 0) end_round();
}

void LifeRounds::thread_ended(ThreadId thread) {
  for (Place& place : places_) {
    if (std::any_of(place.targets.begin(), place.targets.end(),
                    [&](const LifeTarget& each) { return each.thread == thread; })) {
      stop(place);
    }
  }
  if (queue_.empty() && under_way_ == 0) end_round();
}

// The round does not count for it, as its other words were not watched in it.
void LifeRounds::stop(Place& place) {
  place.open = false;
  place.lives_ns.clear();
  const auto number = static_cast<std::size_t>(&place - places_.data());
  std::erase_if(queue_, [&](const Probe& each) { return each.place == number; });
}

void LifeRounds::end_round() {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    Place& place = places_[i];
    if (!place.open) continue;
    WatchedCalls& watched = watched_[i];
    ++watched.probes;
    watched.lives_ns.insert(watched.lives_ns.end(), place.lives_ns.begin(), place.lives_ns.end());
    place.lives_ns.clear();
    if (watched.probes == kInVain && watched.lives_ns.empty()) place.open = false;
  }
  begin_round();
}

void LifeRounds::begin_round() {
  std::vector<Probe> all;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (!places_[i].open) continue;
    for (const LifeTarget& target : places_[i].targets) all.push_back({i, target});
  }
  std::shuffle(all.begin(), all.end(), random_);
  queue_.assign(all.begin(), all.end());
}

}  // namespace causalctl::callpath
