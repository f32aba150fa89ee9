#include "controller/causal/experiments/plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "controller/base/error.h"

namespace causalctl::causal {

namespace {

constexpr std::ptrdiff_t kEnoughBaselines = 8;
constexpr double kFewBaselines = 0.2;

bool counts_as_baseline(const Experiment& each) {
  return each.speedup == 0 && each.discarded.empty();
}

}  // namespace

double baseline_share(const std::vector<Experiment>& experiments, std::size_t threads,
                      double wanted) {
  const auto baselines = std::count_if(experiments.begin(), experiments.end(), counts_as_baseline);
  if (threads > 1 || baselines < kEnoughBaselines) return wanted;
  const bool needs_them =
      std::any_of(experiments.begin(), experiments.end(), [](const Experiment& each) {
        return each.pauses != 0 || each.asked_ns != 0 || !each.latency.empty();
      });
  return needs_them ? wanted : std::min(wanted, kFewBaselines);
}

PlanOptions plan_options(const config::Experiment& experiment, std::uint64_t seed) {
  return {experiment.speedups_percent, experiment.baseline_share, experiment.fixed_speedup_percent,
          seed};
}

Plan::Plan(PlanOptions options) : options_(std::move(options)), random_(options_.seed) {
  INVARIANT(options_.baseline_share > 0 && options_.baseline_share < 1);
  if (options_.fixed_speedup_percent) {
    treatments_percent_ = {*options_.fixed_speedup_percent};
  } else {
    for (const unsigned percent : options_.speedups_percent) {
      if (percent > 0) treatments_percent_.push_back(percent);
    }
  }
  if (treatments_percent_.empty()) treatments_percent_ = {0};
}

double Plan::random_speedup() {
  std::uniform_int_distribution<std::size_t> pick(0, treatments_percent_.size() - 1);
  return treatments_percent_[pick(random_)] / 100.0;
}

void Plan::fill_block(const std::vector<UnitId>& recent) {
  std::uniform_int_distribution<std::size_t> pick(0, recent.size() - 1);
  const double odds = options_.baseline_share / (1 - options_.baseline_share);
  const auto baselines = static_cast<unsigned>(std::max(1.0, std::round(odds)));
  const auto treatments = static_cast<unsigned>(std::max(1.0, std::round(1 / odds)));
  for (unsigned i = 0; i < treatments; ++i)
    block_.push_back({recent[pick(random_)], random_speedup()});
  for (unsigned i = 0; i < baselines; ++i) block_.push_back({block_[i % treatments].unit, 0});
  std::shuffle(block_.begin(), block_.end(), random_);
}

std::optional<PlannedExperiment> Plan::next(const std::vector<UnitId>& recent) {
  if (block_.empty()) {
    if (recent.empty()) return std::nullopt;
    fill_block(recent);
  }
  const PlannedExperiment planned = block_.back();
  block_.pop_back();
  return planned;
}

}  // namespace causalctl::causal
