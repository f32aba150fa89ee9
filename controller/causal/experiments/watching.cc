#include "controller/causal/experiments/watching.h"

#include <algorithm>
#include <string>
#include <utility>

#include "controller/base/log.h"
#include "controller/causal/analysis/bearing.h"
#include "controller/causal/engine/intrusion.h"

namespace causalctl::causal {
namespace {

constexpr Nanoseconds kCountingChoice = 700 * kMillisecond;

}  // namespace

Watching::Watching(const EngineParts& parts, Engine& engine, Run& run)
    : parts_(parts), engine_(engine), run_(run) {}

void Watching::begin(const std::function<bool()>& over) {
  choose(over);
  warn();
}

void Watching::choose(const std::function<bool()>& over) {
  visits_counted_.resize(parts_.counters.points().size());
  const auto breakpoints = parts_.armory.breakpoints.size();
  count_births({engine_, parts_, over}, run_);
  kept_ = choose_counting({engine_, parts_, over}, kCountingChoice, run_);
  // Breakpoints that were tried rested for a part of the time, in which visits were not counted.
  if (kept_.empty() && parts_.armory.breakpoints.size() == breakpoints) return;
  cpu_counted_ns_ = engine_.cpu_time_ns();
  for (std::uint32_t tag = 0; tag < visits_counted_.size(); ++tag) {
    visits_counted_[tag] = parts_.counters.total_visits(tag);
  }
}

void Watching::warn() {
  Intrusion intrusion;
  intrusion.spinning_share = engine_.check_for_spinning();
  for (std::uint32_t tag = 0; tag < parts_.counters.points().size(); ++tag) {
    // Of the others it is known what they cost.
    if (has_breakpoints(parts_.armory, tag) && !kept_.contains(tag)) {
      intrusion.samples_near_breakpoint += engine_.samples_near_breakpoint(tag);
    }
    const Nanoseconds cost_ns = parts_.armory.visit_cost_ns(tag);
    const Nanoseconds taken_ns =
        static_cast<Nanoseconds>(parts_.counters.total_visits(tag)) * cost_ns;
    if (taken_ns <= static_cast<Nanoseconds>(intrusion.visits) * intrusion.visit_cost_ns) continue;
    intrusion.visits = parts_.counters.total_visits(tag);
    intrusion.point = parts_.counters.points()[tag].name;
    intrusion.visit_cost_ns = cost_ns;
    const bool known = tag < run_.counting.size();
    intrusion.uprobe_instead = known && run_.counting[tag].way == progress::CountedBy::breakpoint &&
                               run_.counting[tag].can_be_uprobe;
  }
  intrusion.target_cpu_ns = engine_.cpu_time_ns();
  intrusion.samples = parts_.attribution.total();
  for (std::string& warning : warnings_of(intrusion)) {
    log::note("warning: {}", warning);
    run_.warnings.push_back(std::move(warning));
  }
}

WatchingCost Watching::cost() const {
  WatchingCost cost;
  cost.sampling = run_.overhead.slowdown;
  cost.sampling_low = run_.overhead.slowdown_low.value_or(0);
  const Nanoseconds cpu_ns = engine_.cpu_time_ns() - cpu_counted_ns_;
  if (cpu_ns <= 0) return cost;
  for (std::uint32_t tag = 0; tag < visits_counted_.size(); ++tag) {
    const std::uint64_t visits = parts_.counters.total_visits(tag) - visits_counted_[tag];
    const double by_visits = static_cast<double>(visits) *
                             static_cast<double>(parts_.armory.visit_cost_ns(tag)) /
                             static_cast<double>(cpu_ns);
    const auto kept = kept_.find(tag);
    cost.counting += std::max(by_visits, kept == kept_.end() ? 0 : lost_by(kept->second));
  }
  return cost;
}

void Watching::keep_cheap(std::optional<double> max_slowdown_percent) {
  if (run_.reason != EndReason::none) return;
  const WatchingCost cost = this->cost();
  if (max_slowdown_percent && 100 * cost.low() > *max_slowdown_percent) {
    run_.reason = EndReason::budget;
    run_.warnings.push_back(over_budget(cost, *max_slowdown_percent));
  } else if (cost.sampling && cost.low() >= kSlows) {
    run_.warnings.push_back(told_loss(cost));
    log::note("warning: {}", run_.warnings.back());
  }
}

}  // namespace causalctl::causal
