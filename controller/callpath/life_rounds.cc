#include "controller/callpath/life_rounds.h"

#include <algorithm>
#include <utility>

namespace causalctl::callpath {
namespace {

constexpr unsigned kMostUnclear = 50;  // in a row, of one place
// Samples that find a call of a place under way, as many as the rounds so far would have, after
// which a place without a return is given up.
constexpr double kInVain = 8;
constexpr Nanoseconds kUnknownTime = 1;  // in the recording

}  // namespace

LifeRounds::LifeRounds(std::vector<LifePlace> places, std::uint64_t seed) : random_(seed) {
  for (LifePlace& place : places) {
    WatchedCalls& watched = watched_.emplace_back();
    watched.call = place.call;
    watched.covered = place.covered;
    places_.push_back({std::move(place.targets), place.under_way});
    begin_round(places_.back());
  }
}

std::optional<LifeRounds::Probe> LifeRounds::next(const std::function<bool(ThreadId)>& may_watch) {
  Place* next = nullptr;
  std::size_t target = 0;
  for (Place& place : places_) {
    if (next != nullptr && next->turns <= place.turns) continue;
    for (std::size_t i = place.left.size(); i-- > 0;) {
      if (!may_watch(place.left[i].thread)) continue;
      next = &place;
      target = i;
      break;
    }
  }
  if (next == nullptr) return std::nullopt;
  const Probe probe{static_cast<std::size_t>(next - places_.data()), next->left[target]};
  next->left.erase(next->left.begin() + static_cast<std::ptrdiff_t>(target));
  ++next->under_way;
  ++next->turns;
  return probe;
}

void LifeRounds::done(const Probe& probe, Found found, Nanoseconds life_ns) {
  Place& place = places_[probe.place];
  --place.under_way;
  if (!place.open) return;
  if (found == Found::unclear) {
    ++watched_of(place).unclear;
    if (++place.unclear == kMostUnclear) return stop(place, kUnknownTime);
    place.left.insert(place.left.begin(), probe.target);
    return;
  }
  ++watched_of(place).clear;
  place.unclear = 0;
  if (found == Found::life) place.lives_ns.push_back(life_ns);
  if (place.left.empty() && place.under_way == 0) end_round(place);
}

void LifeRounds::thread_ended(ThreadId thread, Nanoseconds time_ns) {
  for (Place& place : places_) {
    if (std::any_of(place.targets.begin(), place.targets.end(),
                    [&](const LifeTarget& each) { return each.thread == thread; })) {
      stop(place, time_ns);
    }
  }
}

void LifeRounds::stop_all(Nanoseconds time_ns) {
  for (Place& place : places_) stop(place, time_ns);
}

// The round does not count for it, as its other words were not watched in it.
void LifeRounds::stop(Place& place, Nanoseconds time_ns) {
  if (place.open) watched_of(place).stopped_ns = std::max(kUnknownTime, time_ns);
  place.open = false;
  place.left.clear();
  place.lives_ns.clear();
}

void LifeRounds::end_round(Place& place) {
  WatchedCalls& watched = watched_of(place);
  ++watched.probes;
  watched.lives_ns.insert(watched.lives_ns.end(), place.lives_ns.begin(), place.lives_ns.end());
  place.lives_ns.clear();
  const bool in_vain = static_cast<double>(watched.probes) * place.under_way_share >= kInVain;
  if (in_vain && watched.lives_ns.empty()) {
    place.open = false;
  } else {
    begin_round(place);
  }
}

void LifeRounds::begin_round(Place& place) {
  place.left = place.targets;
  std::shuffle(place.left.begin(), place.left.end(), random_);
}

}  // namespace causalctl::callpath
