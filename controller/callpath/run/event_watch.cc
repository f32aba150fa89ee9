#include "controller/callpath/run/event_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "controller/base/clock.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::callpath {
namespace {

std::vector<WatchedEvent> find_events(const std::vector<EventSpec>& specs, Pid target,
                                      Recording& recording) {
  if (specs.empty()) return {};
  unwind::Symbolizer symbolizer(target);
  std::vector<WatchedEvent> events = watch_events(specs, target, symbolizer);
  for (const WatchedEvent& event : events) {
    recording.events.push_back(event.metric);
    for (const std::string& remark : event.remarks) recording.warnings.push_back(remark);
  }
  return events;
}

}  // namespace

EventWatch::EventWatch(const std::vector<EventSpec>& specs, double most_slowdown,
                       std::uint64_t seed, Pid target, Recording& recording)
    : events_(find_events(specs, target, recording)) {
  const auto costly = std::count_if(events_.begin(), events_.end(),
                                    [](const auto& event) { return event.cost_ns > 0; });
  const double share = most_slowdown / static_cast<double>(std::max<std::ptrdiff_t>(1, costly));
  for (const WatchedEvent& event : events_) {
    costs_.push_back(Cost{Thinning(event.cost_ns, share, seed + costs_.size())});
  }
}

void EventWatch::keep_cost_small(Nanoseconds time_ns, perf::Session& session, Counts& counts) {
  // Whoever opens a uprobe meanwhile waits for some 100 ms, in which nobody reads the rings.
  const bool is_closing = session.is_closing();
  for (std::uint32_t tag = 0; tag < events_.size(); ++tag) {
    const WatchedEvent& event = events_[tag];
    Cost& cost = costs_[tag];
    if (event.cost_ns == 0 || cost.is_lost) continue;
    const std::uint64_t fresh = cost.is_open ? session.fresh_events(tag) : 0;
    const Thinning::Step step = cost.thinning.step(fresh, time_ns, !is_closing);
    if (step.is_open && !cost.is_open) {
      const Nanoseconds begin_ns = monotonic_now();
      cost.is_lost = !session.open_events(event.templates);
      if (cost.is_lost) continue;
      cost.thinning.begin_piece(time_ns + monotonic_now() - begin_ns);
    }
    counts.take(tag, step);
    if (!step.is_open && cost.is_open) session.close_events(tag);
    cost.is_open = step.is_open;
  }
}

Nanoseconds EventWatch::next_ns() const {
  Nanoseconds next_ns = Thinning::kNever;
  for (const Cost& cost : costs_) next_ns = std::min(next_ns, cost.thinning.next_ns());
  return next_ns;
}

std::vector<double> EventWatch::cost_shares() const {
  std::vector<double> shares;
  for (std::size_t tag = 0; tag < events_.size(); ++tag) {
    shares.push_back(costs_[tag].thinning.hits_per_second() *
                     static_cast<double>(events_[tag].cost_ns) / kSecond);
  }
  return shares;
}

void EventWatch::warn(const Counts& counts, const Recorder& recorder, bool is_alive,
                      Recording& recording) const {
  for (std::uint32_t tag = 0; tag < events_.size(); ++tag) {
    if (costs_[tag].is_lost && is_alive) {
      recording.warnings.push_back(fmt::format(
          "{}: the uprobe could not be opened again, so that what came later is missing "
          "(--verbose says why)",
          events_[tag].spec.option()));
    }
    if (counts.has(tag)) continue;
    const std::string& name = events_[tag].metric.name;
    const Thinning& thinning = costs_[tag].thinning;
    if (!recorder.has_seen(tag)) {
      recording.warnings.push_back(fmt::format("no event seen of --event {}", name));
    } else if (thinning.was_interrupted()) {
      recording.warnings.push_back(fmt::format(
          "--event {} happens up to {:.0f} times a second in one thread, and each costs its thread "
          "{:.0f} µs. It was recorded in bursts of {} ms at random times, {:.1f} % of the time, "
          "whose values are shown",
          name, thinning.estimated_per_second(),
          static_cast<double>(events_[tag].cost_ns) / kMicrosecond, Thinning::kPiece / kMillisecond,
          100 * thinning.open_share()));
    }
  }
}

}  // namespace causalctl::callpath
