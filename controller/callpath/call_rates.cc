#include "controller/callpath/call_rates.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "controller/callpath/expansion.h"
#include "controller/callpath/residual.h"

namespace causalctl::callpath {
namespace {

// Moments at which a call must have been under way so that one without any return tells something.
constexpr std::size_t kEnoughWithout = 8;

constexpr double kNearlyAll = 0.95;  // of the recording; a place was watched to its end

// Returns the time of each node and all below it: on a core, blocked, and waiting for a core.
std::vector<double> times_below(const Recording& run) {
  std::vector<double> times(run.tree.size());
  for (const auto& [key, slice] : run.slices) {
    const bool is_time = key.metric == Metric::cpu_ns || key.metric == Metric::blocked_ns ||
                         key.metric == Metric::runnable_ns;
    if (!is_time) continue;
    for (const auto& [node, value] : slice) times[node] += static_cast<double>(value);
  }
  for (std::size_t node = times.size(); node-- > 1;) {
    times[run.tree.node(static_cast<NodeId>(node)).parent] += times[node];
  }
  return times;
}

bool has_waits(const Recording& run) {
  return std::any_of(run.slices.begin(), run.slices.end(), [](const auto& slice) {
    return slice.first.metric == Metric::blocked_ns || slice.first.metric == Metric::waits;
  });
}

// What the rate of the watched words, in the moments that count, is multiplied by to get that of
// all calls at all times. Moments at which the thread waited for a core do not count.
double scale_of(const WatchedCalls& watched) {
  const auto clear = static_cast<double>(watched.clear);
  const double counted = clear > 0 ? clear / (clear + static_cast<double>(watched.unclear)) : 1;
  return counted / (watched.covered > 0 ? watched.covered : 1);
}

// A place without a rate. `calls` is how many of its calls are under way at a time, on average.
// Returns whether returns would have been seen, if its calls mostly were as long as can be told.
bool is_out_of_range(const WatchedCalls& watched, double calls) {
  const double found = static_cast<double>(watched.probes) * watched.covered * calls;
  const std::size_t enough = watched.lives_ns.empty() ? kEnoughWithout : 2 * kFewestLives;
  return found >= static_cast<double>(enough);
}

}  // namespace

std::vector<std::uint32_t> frames_down_to(NodeId node, const Recording& run, Frames& frames) {
  std::vector<std::uint32_t> inside_out;
  for (; node != kRoot; node = run.tree.node(node).parent) {
    const auto at = frames.of_location(run, run.locations[run.tree.node(node).location], false);
    inside_out.insert(inside_out.end(), at.rbegin(), at.rend());
  }
  return {inside_out.rbegin(), inside_out.rend()};
}

CallRates call_rates(const Recording& run) {
  CallRates places;
  if (run.watched.calls.empty() || run.wall_ns <= 0) return places;
  const auto wall_ns = static_cast<double>(run.wall_ns);
  places.longer_than_ns = run.watched.precision_ns;
  places.shorter_than_ns = run.watched.watched_ns;
  const std::vector<double> times = times_below(run);
  const bool waits = has_waits(run);
  report::callpath::Profile named;  // for its frames
  Frames frames(named);
  struct Found {
    double time;
    NodeId call;
    report::callpath::CallRate rate;
  };
  std::vector<Found> found;
  for (const WatchedCalls& watched : run.watched.calls) {
    const ResidualLives lives{watched.lives_ns, watched.probes, run.watched.watched_ns,
                              run.watched.precision_ns};
    const auto rate = calls_of(lives);
    if (!rate) {
      ++(is_out_of_range(watched, times[watched.call] / wall_ns) ? places.out_of_range
                                                                 : places.few_returns);
      continue;
    }
    report::callpath::CallRate shown;
    for (const std::uint32_t number : frames_down_to(watched.call, run, frames)) {
      const report::callpath::Frame& frame = named.frames[number];
      shown.path.push_back(frame.function);
      shown.file = frame.file;  // in the end, that of the call
      shown.line = frame.line;
    }
    const double scale = scale_of(watched);
    shown.per_second = rate->per_second * scale;
    shown.low = rate->low * scale;
    shown.high = rate->high * scale;
    shown.longer_than_ns = rate->from_ns;
    for (const LongerCalls& each : rate->longer) {
      shown.longer.push_back({each.than_ns, each.low * scale, each.high * scale});
    }
    shown.covered = watched.covered;
    shown.returns = watched.lives_ns.size();
    const double per_second_ns = times[watched.call] / (wall_ns / static_cast<double>(kSecond));
    shown.stopped =
        watched.stopped_ns > 0 && static_cast<double>(watched.stopped_ns) < kNearlyAll * wall_ns;
    if (waits && !shown.stopped) {  // or the time is of more calls than the rate
      shown.mean_ns = per_second_ns / shown.per_second;
      shown.shortest_mean_ns = per_second_ns / shown.high;
      shown.longest_mean_ns = per_second_ns / shown.low;
    }
    found.push_back({times[watched.call], watched.call, std::move(shown)});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.time > b.time; });
  for (Found& each : found) {
    places.rates.push_back(std::move(each.rate));
    places.calls.push_back(each.call);
  }
  return places;
}

}  // namespace causalctl::callpath
