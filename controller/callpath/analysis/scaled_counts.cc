#include "controller/callpath/analysis/scaled_counts.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "controller/callpath/record/shares.h"
#include "controller/callpath/record/strata.h"

namespace causalctl::callpath {
namespace {

using report::callpath::Count;

// More than a log can hold makes no sense.
constexpr double kMostCalls = 1ULL << 62U;

// Calls in the whole time, as far as is known.
struct Estimate {
  double calls = 0;
  double least = 0, most = 0;
};

std::uint64_t whole(double calls) {
  return static_cast<std::uint64_t>(std::clamp(calls, 0.0, kMostCalls));
}

bool is_too_dear(const FunctionCount& count) {
  return count.counted_ns < count.wall_ns && count.cost_share > Strata::kMostCostShare;
}

Estimate estimated_calls(const FunctionCount& count) {
  const auto counted = static_cast<double>(count.calls);
  if (count.counted_ns <= 0 || count.counted_ns >= count.wall_ns)
    return {counted, counted, counted};
  double in_gaps = count.in_gaps, least = count.least_in_gaps, most = count.most_in_gaps;
  if (most <= 0) {  // of a log that does not say it: at the rate of the time in which they were
    in_gaps = least = most = counted * static_cast<double>(count.wall_ns - count.counted_ns) /
                             static_cast<double>(count.counted_ns);
  }
  least = std::clamp(least, 0.0, kMostCalls);
  if (is_too_dear(count)) return {counted + least, counted + least, counted + least};
  in_gaps = std::clamp(in_gaps, least, kMostCalls);
  return {counted + in_gaps, counted + least, counted + std::clamp(most, in_gaps, kMostCalls)};
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
    const std::uint64_t calls = whole(estimated_calls(*count).calls);
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
  std::vector<Estimate> estimates;
  for (const Recording& run : runs) {
    for (const FunctionCount& each : run.counts) {
      auto at = std::find_if(counts.begin(), counts.end(),
                             [&](const Count& count) { return count.column == each.event; });
      if (at == counts.end()) {
        at = counts.insert(at, Count{});
        counted_s.push_back(0);
        wall_s.push_back(0);
        estimates.emplace_back();
      }
      const auto index = static_cast<std::size_t>(at - counts.begin());
      at->column = each.event;
      at->function = each.function;
      const Estimate estimate = estimated_calls(each);
      at->calls += whole(estimate.calls);
      estimates[index].least += estimate.least;
      estimates[index].most += estimate.most;
      at->cost_ns = std::max(at->cost_ns, each.cost_ns);
      at->cost_share = std::clamp(each.cost_share, at->cost_share, 1.0);
      at->too_dear = at->too_dear || is_too_dear(each);
      if (at->missing.empty()) at->missing = each.missing;
      wall_s[index] += static_cast<double>(each.wall_ns) / kSecond;
      counted_s[index] += static_cast<double>(std::min(each.counted_ns, each.wall_ns)) / kSecond;
    }
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    Count& count = counts[i];
    if (wall_s[i] > 0) {
      count.counted_share = counted_s[i] / wall_s[i];
      count.per_second = estimates[i].least / wall_s[i];
      count.most_per_second = estimates[i].most / wall_s[i];
    }
    count.exact = count.missing.empty() && count.counted_share >= 1;
    if (!count.too_dear) continue;
    count.most_per_second = count.per_second;
    count.calls = whole(estimates[i].least);
  }
  return counts;
}

}  // namespace causalctl::callpath
