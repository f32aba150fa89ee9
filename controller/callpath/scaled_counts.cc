#include "controller/callpath/scaled_counts.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "controller/callpath/shares.h"

namespace causalctl::callpath {
namespace {

using report::callpath::Count;

// More than a log can hold makes no sense.
constexpr double kMostCalls = 1ULL << 62U;
// A thread that spends more than this share of its time on being counted does less else, so that
// what it would do otherwise is not known.
constexpr double kMostCostShare = 0.5;

// Returns the calls in the whole time, at the rate of the time in which they were counted.
std::uint64_t estimated_calls(const FunctionCount& count) {
  if (count.counted_ns <= 0 || count.counted_ns >= count.wall_ns) return count.calls;
  const double calls = static_cast<double>(count.calls) * static_cast<double>(count.wall_ns) /
                       static_cast<double>(count.counted_ns);
  return static_cast<std::uint64_t>(std::clamp(calls, 0.0, kMostCalls));
}

}  // namespace

ScaledCounts scaled_counts(const Recording& run) {
  ScaledCounts scaled;
  for (std::size_t index = 0; index < run.events.size(); ++index) {
    const auto count = std::find_if(
        run.counts.begin(), run.counts.end(),
        [&](const FunctionCount& each) { return each.event == run.events[index].name; });
    if (count == run.counts.end()) continue;
    const Metric metric = metric_of_event(index);
    std::vector<std::tuple<SliceKey, NodeId, std::uint64_t>> values;
    for (const auto& [key, slice] : run.slices) {
      if (key.metric != metric) continue;
      scaled.slices[key];
      for (const auto& [node, value] : slice) values.emplace_back(key, node, value);
    }
    std::sort(values.begin(), values.end());
    std::vector<std::uint64_t> weights;
    for (const auto& value : values) weights.push_back(std::get<2>(value));
    const std::uint64_t calls = estimated_calls(*count);
    if (weights.empty()) {
      scaled.unsampled[metric] = calls;
      continue;
    }
    const std::vector<std::uint64_t> parts = divided(calls, weights);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto& [key, node, value] = values[i];
      if (parts[i] > 0) scaled.slices[key][node] = parts[i];
    }
  }
  return scaled;
}

std::vector<Count> counts_of(std::span<const Recording> runs) {
  std::vector<Count> counts;
  std::vector<double> counted_s, wall_s;  // as counts
  for (const Recording& run : runs) {
    for (const FunctionCount& each : run.counts) {
      auto at = std::find_if(counts.begin(), counts.end(),
                             [&](const Count& count) { return count.column == each.event; });
      if (at == counts.end()) {
        at = counts.insert(at, Count{});
        counted_s.push_back(0);
        wall_s.push_back(0);
      }
      const auto index = static_cast<std::size_t>(at - counts.begin());
      at->column = each.event;
      at->function = each.function;
      at->calls += estimated_calls(each);
      at->cost_ns = std::max(at->cost_ns, each.cost_ns);
      at->cost_share = std::clamp(each.cost_share, at->cost_share, 1.0);
      at->cost_of_all = at->cost_of_all || each.cost_of_all;
      if (at->missing.empty()) at->missing = each.missing;
      wall_s[index] += static_cast<double>(each.wall_ns) / kSecond;
      counted_s[index] += static_cast<double>(std::min(each.counted_ns, each.wall_ns)) / kSecond;
    }
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    Count& count = counts[i];
    if (wall_s[i] > 0) {
      count.counted_share = counted_s[i] / wall_s[i];
      count.per_second = static_cast<double>(count.calls) / wall_s[i];
    }
    count.exact = count.missing.empty() && count.counted_share >= 1;
    count.too_dear = count.counted_share < 1 && count.cost_share > kMostCostShare;
    count.most_per_second = count.per_second;
    if (count.counted_share < 1 && !count.too_dear) {
      count.most_per_second /= 1 - count.cost_share;
    }
  }
  return counts;
}

}  // namespace causalctl::callpath
