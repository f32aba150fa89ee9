#include "controller/callpath/record/shares.h"

#include <algorithm>
#include <numeric>

#include "controller/base/error.h"

namespace causalctl::callpath {

std::vector<std::uint64_t> divided(std::uint64_t sum, const std::vector<std::uint64_t>& weights) {
  INVARIANT(!weights.empty());
  std::vector<std::uint64_t> parts(weights.size(), 0);
  const std::uint64_t all = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
  if (all == 0) {
    parts.front() = sum;
    return parts;
  }
  // What has been given so far is rounded, not each part, so that the parts add up.
  std::uint64_t weight = 0, given = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weight += weights[i];
    const long double share = static_cast<long double>(weight) / static_cast<long double>(all);
    const std::uint64_t due =
        weight == all
            ? sum
            : std::min(sum, static_cast<std::uint64_t>(share * static_cast<long double>(sum)));
    parts[i] = due - std::min(due, given);
    given = std::max(given, due);
  }
  return parts;
}

void divide(std::uint64_t sum, std::map<NodeId, std::uint64_t>& values) {
  std::vector<std::uint64_t> weights;
  for (const auto& [node, value] : values) weights.push_back(value);
  const auto parts = divided(sum, weights);
  std::size_t next = 0;
  for (auto& [node, value] : values) value = parts[next++];
}

void share_out(const WaitSums& others, std::map<NodeId, WaitSums>& sampled) {
  if (sampled.empty()) sampled[kRoot];
  for (const auto member : {&WaitSums::blocked_ns, &WaitSums::runnable_ns, &WaitSums::waits}) {
    if (others.*member == 0) continue;
    std::vector<std::uint64_t> weights;
    for (const auto& [node, sums] : sampled) weights.push_back(sums.*member);
    const std::vector<std::uint64_t> parts = divided(others.*member, weights);
    std::size_t next = 0;
    for (auto& [node, sums] : sampled) sums.*member += parts[next++];
  }
  if (others.stopped_ns == 0 && others.frozen_ns == 0) return;
  WaitSums& nowhere = sampled[kRoot];
  nowhere.stopped_ns += others.stopped_ns;
  nowhere.frozen_ns += others.frozen_ns;
}

}  // namespace causalctl::callpath
