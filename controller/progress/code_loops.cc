#include "controller/progress/code_loops.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace causalctl::progress {
namespace {

constexpr std::size_t kMostGraphSteps = 20'000;
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// Where each step leads, by its index.
class Graph {
 public:
  explicit Graph(const std::vector<CodeStep>& steps) : after(steps.size()), before(steps.size()) {
    if (steps.empty()) return;
    std::vector<std::size_t> computed;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const CodeStep& step = steps[i];
      if (step.continues && i + 1 < steps.size()) add(i, i + 1);
      if (step.is_call) continue;
      const auto to = step.to == 0 ? steps.end() : step_at(steps, step.to);
      if (to != steps.end()) add(i, static_cast<std::size_t>(to - steps.begin()));
      if (step.to == 0 && step.mnemonic.ends_with("jmp")) computed.push_back(i);
    }
    std::vector<bool> reached(steps.size());
    reach(0, reached);
    if (computed.empty()) return;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (reached[i] || steps[i].mnemonic.starts_with("nop")) continue;
      for (const std::size_t jump : computed) add(jump, i);
      reach(i, reached);
    }
  }

  // Marks what the step leads to, and itself.
  void reach(std::size_t first, std::vector<bool>& reached) const {
    std::vector<std::size_t> open = {first};
    while (!open.empty()) {
      const std::size_t step = open.back();
      open.pop_back();
      if (reached[step]) continue;
      reached[step] = true;
      open.insert(open.end(), after[step].begin(), after[step].end());
    }
  }

  std::vector<std::vector<std::size_t>> after, before;

 private:
  void add(std::size_t from, std::size_t to) {
    after[from].push_back(to);
    before[to].push_back(from);
  }
};

// Immediate dominators (Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm").
class Dominators {
 public:
  explicit Dominators(const Graph& graph)
      : number_(graph.after.size(), kNone), above_(graph.after.size(), kNone) {
    const auto order = reverse_postorder(graph);
    for (std::size_t i = 0; i < order.size(); ++i) number_[order[i]] = i;
    above_[0] = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (const std::size_t step : order) {
        if (step == 0) continue;
        std::size_t common = kNone;
        for (const std::size_t each : graph.before[step]) {
          if (above_[each] == kNone) continue;
          common = common == kNone ? each : meet(each, common);
        }
        changed = changed || above_[step] != common;
        above_[step] = common;
      }
    }
  }

  bool dominates(std::size_t head, std::size_t step) const {
    if (number_[head] == kNone || number_[step] == kNone) return false;
    while (number_[step] > number_[head]) step = above_[step];
    return step == head;
  }

 private:
  static std::vector<std::size_t> reverse_postorder(const Graph& graph) {
    std::vector<std::size_t> order;
    std::vector<bool> seen(graph.after.size());
    std::vector<std::pair<std::size_t, std::size_t>> open = {{0, 0}};  // a step, its next successor
    seen[0] = true;
    while (!open.empty()) {
      auto& [step, next] = open.back();
      if (next == graph.after[step].size()) {
        order.push_back(step);
        open.pop_back();
        continue;
      }
      const std::size_t to = graph.after[step][next++];
      if (seen[to]) continue;
      seen[to] = true;
      open.emplace_back(to, 0);
    }
    std::reverse(order.begin(), order.end());
    return order;
  }

  std::size_t meet(std::size_t a, std::size_t b) const {
    while (a != b) {
      while (number_[a] > number_[b]) a = above_[a];
      while (number_[b] > number_[a]) b = above_[b];
    }
    return a;
  }

  std::vector<std::size_t> number_, above_;
};

}  // namespace

std::vector<CodeLoop> loops_of(const std::vector<CodeStep>& steps) {
  std::vector<CodeLoop> loops;
  if (steps.empty() || steps.size() > kMostGraphSteps) return loops;
  const Graph graph(steps);
  const Dominators dominators(graph);
  std::map<std::size_t, std::vector<std::size_t>> jumps_back;  // by head
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const std::size_t to : graph.after[i]) {
      if (dominators.dominates(to, i)) jumps_back[to].push_back(i);
    }
  }
  for (auto& [head, open] : jumps_back) {
    std::set<std::size_t> body = {head};
    while (!open.empty()) {
      const std::size_t step = open.back();
      open.pop_back();
      if (!body.insert(step).second) continue;
      open.insert(open.end(), graph.before[step].begin(), graph.before[step].end());
    }
    CodeLoop loop{head, {body.begin(), body.end()}, {}};
    for (const std::size_t each : graph.before[head]) {
      if (!body.contains(each)) loop.entered_from.push_back(each);
    }
    loops.push_back(std::move(loop));
  }
  return loops;
}

std::vector<bool> reached_from(const std::vector<CodeStep>& steps,
                               const std::vector<std::size_t>& from) {
  const Graph graph(steps);
  std::vector<bool> reached(steps.size());
  for (const std::size_t each : from) graph.reach(each, reached);
  return reached;
}

}  // namespace causalctl::progress
