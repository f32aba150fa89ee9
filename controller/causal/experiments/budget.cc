#include "controller/causal/experiments/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "controller/base/statistics.h"

namespace causalctl::causal {
namespace {

constexpr std::size_t kFewest = 3;  // an interval needs this many rates on either side
constexpr double kTail = 0.025;

Nanoseconds wall_of(const Experiment& each) { return each.warm_up_ns + each.wall_ns; }

std::span<const Experiment> window_of(std::span<const Experiment> all) {
  std::size_t count = 0;
  Nanoseconds wall_ns = 0;
  while (count < std::min(all.size(), kBudgetWindow) && wall_ns < kLongestWindow) {
    ++count;
    wall_ns += wall_of(all[all.size() - count]);
  }
  return count == kBudgetWindow || wall_ns >= kLongestWindow ? all.last(count) : all.last(0);
}

// Returns the lower end of the interval of the share of the rate that treatments lose (Welch's t
// with the smaller number of degrees of freedom); 0 if there is no interval.
double lost_rate(std::span<const Experiment> window, std::size_t point) {
  std::vector<double> plain;
  std::vector<double> sped_up;
  for (const Experiment& each : window) {
    if (!each.discarded.empty() || point >= each.throughput.size() || each.wall_ns <= 0) continue;
    const double rate =
        static_cast<double>(each.throughput[point].visits) / static_cast<double>(each.wall_ns);
    (each.speedup > 0 ? sped_up : plain).push_back(rate);
  }
  if (plain.size() < kFewest || sped_up.size() < kFewest) return 0;
  const double normal = statistics::mean(plain);
  if (normal <= 0) return 0;
  const double error =
      std::hypot(statistics::standard_error(plain), statistics::standard_error(sped_up));
  const double t =
      statistics::student_t_quantile(kTail, std::min(plain.size(), sped_up.size()) - 1);
  const double lost = (normal - statistics::mean(sped_up) - t * error) / normal;
  const auto all = static_cast<double>(plain.size() + sped_up.size());
  return std::max(lost, 0.0) * static_cast<double>(sped_up.size()) / all;
}

std::string parts_of(const WatchingCost& cost) {
  if (!cost.sampling) return fmt::format("counting visits takes {:.1f} %", 100 * cost.counting);
  return fmt::format("sampling takes {:.1f} %, counting visits {:.1f} %",
                     100 * std::max(*cost.sampling, 0.0), 100 * cost.counting);
}

}  // namespace

Slowdown slowdown_of(std::span<const Experiment> experiments, double sampling_cost) {
  const auto window = window_of(experiments);
  Slowdown slowdown;
  if (window.empty()) return slowdown;
  slowdown.experiments = window.size();
  Nanoseconds delay_ns = 0;
  for (const Experiment& each : window) {
    delay_ns += each.warm_up_delay_ns + each.delay_ns;
    slowdown.wall_ns += wall_of(each);
  }
  slowdown.share = static_cast<double>(delay_ns) / static_cast<double>(slowdown.wall_ns);
  for (std::size_t point = 0; point < window.front().throughput.size(); ++point) {
    const double lost = lost_rate(window, point);
    if (lost <= slowdown.share) continue;
    slowdown.share = lost;
    slowdown.by_progress = true;
  }
  slowdown.share += std::max(sampling_cost, 0.0);
  return slowdown;
}

std::string told_loss(const WatchingCost& cost) {
  return fmt::format(
      "watching slows the target by {:.0f} % while nothing is paused: {}. Effects are those of the "
      "slowed program; a longer --period, or a point that is passed less often, costs less",
      100 * cost.share(), parts_of(cost));
}

std::string over_budget(const WatchingCost& cost, double max_slowdown_percent) {
  return fmt::format(
      "ended early: the target ran {:.1f} % slower while nothing was paused ({}), "
      "--max-slowdown is {:.1f} %",
      100 * cost.share(), parts_of(cost), max_slowdown_percent);
}

std::string over_budget(const Slowdown& slowdown, double max_slowdown_percent) {
  return fmt::format(
      "ended early: the target ran {:.1f} % slower over the last {:.1f} s (by {}), --max-slowdown "
      "is {:.1f} %",
      100 * slowdown.share, static_cast<double>(slowdown.wall_ns) / 1e9,
      slowdown.by_progress ? "progress" : "pauses and visits", max_slowdown_percent);
}

}  // namespace causalctl::causal
