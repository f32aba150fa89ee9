#include "controller/callpath/run/event_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/procfs.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::callpath {
namespace {

constexpr std::size_t kMostUprobeEvents = 64;

// Returns how much a number has grown, and keeps it.
std::uint64_t fresh_since(std::uint64_t& before, std::uint64_t now) {
  const std::uint64_t last = std::exchange(before, now);
  return now > last ? now - last : 0;
}

std::vector<WatchedEvent> find_events(const std::vector<EventSpec>& specs, Pid target,
                                      Recording& recording) {
  if (specs.empty()) return {};
  unwind::Symbolizer symbolizer(target);
  std::vector<WatchedEvent> events = watch_events(specs, target, symbolizer);
  const std::size_t threads = procfs::threads(target).size();
  std::size_t uprobes = 0;
  for (WatchedEvent& event : events) {
    recording.events.push_back(event.metric);
    for (const std::string& remark : event.remarks) recording.warnings.push_back(remark);
    if (event.spec.kind != EventSpec::Kind::function) continue;
    if (event.spec.counted && (uprobes + event.templates.size()) * threads > kMostUprobeEvents) {
      event.templates.clear();
      recording.warnings.push_back(
          fmt::format("{}: by which paths the calls come is not known, as that would need {} perf "
                      "events, of which each takes the kernel 50 ms to close",
                      event.spec.option(), event.places.size() * threads));
    }
    uprobes += event.templates.size();
  }
  if (uprobes * threads > kMostUprobeEvents) {
    throw Error(fmt::format("uprobes at {} places in {} threads need {} perf events, of which each "
                            "takes the kernel 50 ms to close; at most {} are possible",
                            uprobes, threads, uprobes * threads, kMostUprobeEvents),
                "name a function with fewer places, or record a process with fewer threads");
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
  const bool is_closing = session.is_closing() || counts.is_closing();
  for (std::uint32_t tag = 0; tag < events_.size(); ++tag) {
    const WatchedEvent& event = events_[tag];
    Cost& cost = costs_[tag];
    if (event.cost_ns == 0) continue;
    const std::uint64_t fresh = cost.is_open ? fresh_hits(tag, session, counts) : 0;
    const Thinning::Step step = cost.thinning.step(fresh, time_ns, !is_closing);
    if (step.is_open && !cost.is_open) {
      const Nanoseconds begin_ns = monotonic_now();
      session.open_events(event.templates);
      counts.open(tag);
      cost.thinning.begin_piece(time_ns + monotonic_now() - begin_ns);
    }
    counts.take(tag, step);
    if (!step.is_open && cost.is_open) {
      counts.close(tag);
      session.close_events(tag);
    }
    if (step.is_open == cost.is_open) continue;
    cost.is_open = step.is_open;
    cost.calls = counts.calls(tag);
    cost.seen = session.events_counted(tag);
  }
}

std::uint64_t EventWatch::fresh_hits(std::uint32_t tag, perf::Session& session,
                                     const Counts& counts) {
  const bool has_samples = !events_[tag].templates.empty();
  const std::uint64_t busiest = has_samples ? session.fresh_events(tag) : 0;
  if (!counts.has(tag)) return busiest;
  // An event that is sampled does not count while the kernel throttles it: it tells which part of
  // the calls is the busiest thread's, but not how many there are.
  Cost& cost = costs_[tag];
  const std::uint64_t calls = fresh_since(cost.calls, counts.calls(tag));
  const std::uint64_t seen = has_samples ? fresh_since(cost.seen, session.events_counted(tag)) : 0;
  if (busiest == 0 || seen <= busiest) return calls;
  const double part = static_cast<double>(busiest) / static_cast<double>(seen);
  return static_cast<std::uint64_t>(part * static_cast<double>(calls));
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

void EventWatch::warn(const Counts& counts, const Recorder& recorder, Recording& recording) const {
  for (std::uint32_t tag = 0; tag < events_.size(); ++tag) {
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
