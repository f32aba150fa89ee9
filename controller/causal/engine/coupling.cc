#include "controller/causal/engine/coupling.h"

#include <algorithm>
#include <numeric>

namespace causalctl::causal {
namespace {

// A thread that waits for others for less than this part of its CPU time meets them by chance.
constexpr double kDepends = 0.03;

// A thread that has ended less than this part of another one's waits is left out.
constexpr double kSmallPart = 0.01;

using Graph = std::unordered_map<Tid, std::vector<Tid>>;

// Returns `from` and every thread that can be reached from it.
std::unordered_set<Tid> reached(std::unordered_set<Tid> from, const Graph& graph) {
  std::vector<Tid> open(from.begin(), from.end());
  while (!open.empty()) {
    const Tid next = open.back();
    open.pop_back();
    const auto found = graph.find(next);
    if (found == graph.end()) continue;
    for (const Tid to : found->second) {
      if (from.insert(to).second) open.push_back(to);
    }
  }
  return from;
}

Graph reversed(const Graph& graph) {
  Graph result;
  for (const auto& [from, all] : graph) {
    for (const Tid to : all) result[to].push_back(from);
  }
  return result;
}

Graph in_both_directions(const Graph& graph, const std::unordered_set<Tid>& among) {
  Graph result;
  for (const auto& [from, all] : graph) {
    for (const Tid to : all) {
      if (!among.contains(from) || !among.contains(to)) continue;
      result[from].push_back(to);
      result[to].push_back(from);
    }
  }
  return result;
}

}  // namespace

void Coupling::waited(Tid waiter, Tid waker, Nanoseconds wait_ns) {
  waits_[waiter][waker] += wait_ns;
}

Coupling::Edges Coupling::dependences(const std::vector<Member>& members) const {
  Edges edges;
  for (const Member& member : members) {
    const auto waits = waits_.find(member.thread);
    if (waits == waits_.end()) continue;
    const auto all = static_cast<double>(
        std::accumulate(waits->second.begin(), waits->second.end(), Nanoseconds{0},
                        [](Nanoseconds sum, const auto& each) { return sum + each.second; }));
    if (all <= kDepends * static_cast<double>(member.ran_ns)) continue;
    for (const auto& [waker, wait_ns] : waits->second) {
      if (static_cast<double>(wait_ns) >= kSmallPart * all) edges[member.thread].push_back(waker);
    }
  }
  return edges;
}

std::unordered_set<Tid> Coupling::take(const std::vector<Member>& members) {
  const Edges edges = dependences(members);
  waits_.clear();
  std::unordered_set<Tid> visitors;
  for (const Member& member : members) {
    if (member.visits) visitors.insert(member.thread);
  }
  const auto coupled = reached(reached(visitors, edges), reversed(edges));
  const Graph group = in_both_directions(edges, coupled);
  if (group.empty()) return {};
  const auto one_group = reached({group.begin()->first}, group);
  return one_group.size() == group.size() ? one_group : std::unordered_set<Tid>();
}

}  // namespace causalctl::causal
