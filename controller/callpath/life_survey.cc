#include "controller/callpath/life_survey.h"

#include <algorithm>
#include <set>
#include <utility>

namespace causalctl::callpath {
namespace {

constexpr std::uint64_t kFewestSamples = 10;  // samples of a place that is watched
constexpr double kLeastShare = 0.1;      // of the samples of its threads, or few returns are seen
constexpr std::size_t kMostOfPlace = 8;  // targets of one place
constexpr double kOwnShare = 0.95;       // share of a target's samples that are of its place
constexpr double kCovered = 0.9;         // share of a place's samples that have a target
constexpr std::size_t kMostFrames = 64;  // innermost ones of a chain that are looked at
constexpr std::size_t kMostRemembered = 1U << 16U;  // that are remembered

struct Seen {
  LifeTarget target;
  std::uint64_t samples = 0;  // of the place
  bool is_own = false;        // it has hardly any samples of other places
};

// Where the return address of a frame is: below the canonical frame address of what it called.
Address slot_of(const unwind::Chain& chain, std::size_t frame) {
  const Address cfa = chain.frames[frame - 1].cfa;
  return cfa < sizeof(Address) ? 0 : cfa - sizeof(Address);
}

}  // namespace

void LifeSurvey::take(ThreadId thread, const unwind::Chain& chain, NodeId node,
                      const CallTree& tree) {
  ++samples_;
  ++of_thread_[thread];
  if (chain.moves) return;
  const std::size_t frames = std::min(chain.frames.size(), kMostFrames);
  for (std::size_t frame = 1; frame < frames; ++frame) {
    node = tree.node(node).parent;
    const unwind::UnwoundFrame& caller = chain.frames[frame];
    const Address slot = slot_of(chain, frame);
    if (slot == 0 || slot % sizeof(Address) != 0 || !unwind::is_return_address(caller) ||
        caller.how == unwind::FrameHow::guess) {
      continue;
    }
    const LifeTarget target{thread, slot, caller.ip};
    if (seen_.size() == kMostRemembered && !seen_.contains(target)) continue;
    ++seen_[target][node];
  }
}

void LifeSurvey::thread_ended(ThreadId thread) {
  of_thread_.erase(thread);
  std::erase_if(seen_, [thread](const auto& each) { return each.first.thread == thread; });
}

std::vector<LifePlace> LifeSurvey::places(std::size_t most_targets, double moments) const {
  std::map<NodeId, std::vector<Seen>> by_place;
  std::map<NodeId, std::uint64_t> totals;
  for (const auto& [target, nodes] : seen_) {
    std::uint64_t all = 0;
    for (const auto& [node, samples] : nodes) all += samples;
    const bool always = all == of_thread_.at(target.thread);
    for (const auto& [node, samples] : nodes) {
      totals[node] += samples;
      const bool is_own = static_cast<double>(samples) >= kOwnShare * static_cast<double>(all);
      by_place[node].push_back({target, samples, is_own && !always});
    }
  }
  std::vector<std::pair<std::uint64_t, NodeId>> order;
  for (const auto& [node, samples] : totals) order.emplace_back(samples, node);
  std::sort(order.rbegin(), order.rend());
  std::vector<LifePlace> places;
  std::size_t used = 0;
  for (const auto& [samples, node] : order) {
    if (samples < kFewestSamples) break;
    std::vector<Seen>& seen = by_place[node];
    std::stable_sort(seen.begin(), seen.end(),
                     [](const Seen& a, const Seen& b) { return a.samples > b.samples; });
    LifePlace place{node, {}, 0};
    std::uint64_t covered = 0;  // samples with one of the words that are chosen
    for (const Seen& each : seen) {
      if (!each.is_own || place.covered >= kCovered || place.targets.size() == kMostOfPlace)
        continue;
      place.targets.push_back(each.target);
      covered += each.samples;
      place.covered = static_cast<double>(covered) / static_cast<double>(samples);
    }
    std::uint64_t of_threads = 0;
    std::set<ThreadId> threads;
    for (const LifeTarget& target : place.targets) {
      if (threads.insert(target.thread).second) of_threads += of_thread_.at(target.thread);
    }
    const auto share =
        static_cast<double>(samples) / static_cast<double>(std::max<std::uint64_t>(1, of_threads));
    const double all = moments * static_cast<double>(threads.size());
    if (all > 0) place.under_way = std::min(1.0, static_cast<double>(samples) / all);
    if (share < kLeastShare || place.covered < kCovered ||
        used + place.targets.size() > most_targets)
      continue;
    used += place.targets.size();
    places.push_back(std::move(place));
  }
  return places;
}

}  // namespace causalctl::callpath
