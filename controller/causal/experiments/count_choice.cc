#include "controller/causal/experiments/count_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "controller/base/log.h"
#include "controller/causal/engine/intrusion.h"
#include "controller/progress/armed.h"
#include "controller/progress/other_way.h"

namespace causalctl::causal {
namespace {

constexpr double kDear = 0.02;    // share of the target's CPU time that visits may take unasked
constexpr double kMargin = 0.01;  // a difference of speed that is worth another way of counting
constexpr Nanoseconds kTurn = 30 * kMillisecond;
constexpr Nanoseconds kLongestTurn = 90 * kMillisecond;
constexpr std::uint64_t kTurnHits = 6;

constexpr Nanoseconds kFirstHits = kSecond;           // for which uprobes are waited for to fire
constexpr Nanoseconds kOnTheWay = 20 * kMillisecond;  // records of breakpoints that are closed
constexpr const char* kBirths = "threads begin often, and breakpoints miss what each passes first";

bool is_hot(const Calibration& with, std::uint32_t tag) {
  return is_hot_line(with.engine.samples_near_breakpoint(tag), with.parts.attribution.total());
}

// Returns which part of the target's CPU time so far visits would have taken at this cost.
double visits_share(const Calibration& with, std::uint32_t tag, Nanoseconds visit_cost_ns) {
  const auto cpu_ns = static_cast<double>(with.engine.cpu_time_ns());
  if (cpu_ns <= 0) return 0;
  return static_cast<double>(with.parts.counters.total_visits(tag)) *
         static_cast<double>(visit_cost_ns) / cpu_ns;
}

BreakpointCost cost_of_breakpoints(const Calibration& with, std::uint32_t tag,
                                   progress::OtherWay& way, Nanoseconds budget_ns) {
  const Clock& clock = with.parts.clock;
  BreakpointCost cost;
  cost.hot_line = is_hot(with, tag);
  // Before breakpoints rest, for then visits are not counted.
  cost.uprobe_share = visits_share(with, tag, way.visit_cost_ns());
  const Pairs pairs = alternate(with, budget_ns, [&](bool on) -> std::optional<double> {
    way.enable_breakpoints(on);
    const Nanoseconds start_ns = clock.now();
    const std::uint64_t before = way.hits();
    const auto enough = [&] {
      return with.stop() || (clock.now() - start_ns >= kTurn && way.hits() - before >= kTurnHits);
    };
    with.engine.run_until(enough, start_ns + kLongestTurn);
    const std::uint64_t hits = way.hits() - before;
    if (hits == 0) return std::nullopt;
    return static_cast<double>(clock.now() - start_ns) / static_cast<double>(hits);
  });
  way.enable_breakpoints(true);
  if (const auto longer = cost_interval_of(pairs)) {
    cost.longer = longer->value;
    cost.low = longer->low;
    cost.high = longer->high;
  }
  return cost;
}

using Ways = std::map<std::uint32_t, std::unique_ptr<progress::OtherWay>>;

// Returns another way for each point that breakpoints count; none if one of them has no other.
Ways other_ways(const Calibration& with) {
  Ways ways;
  for (std::uint32_t tag = 0; tag < with.parts.counters.points().size(); ++tag) {
    if (!has_breakpoints(with.parts.armory, tag)) continue;
    auto way = with.parts.other_way(tag);
    if (!way) return {};
    ways.emplace(tag, std::move(way));
  }
  return ways;
}

// Uprobes that were only opened, and did not fire, are not trusted.
bool have_fired(const Calibration& with, const Ways& ways) {
  return std::all_of(ways.begin(), ways.end(), [&](const auto& way) {
    return way.second->hits() > 0 || with.parts.counters.total_visits(way.first) == 0;
  });
}

}  // namespace

void count_births(const Calibration& with, Run& run) {
  const progress::Counters& counters = with.parts.counters;
  std::uint64_t visits = 0;
  for (std::uint32_t tag = 0; tag < counters.points().size(); ++tag) {
    visits += counters.total_visits(tag);
  }
  const std::uint64_t births = counters.births() + with.parts.session.losses().threads_missed;
  if (!with.parts.other_way || !progress::misses_visits(births, visits)) return;
  const Ways ways = other_ways(with);
  if (ways.empty()) return;
  const Clock& clock = with.parts.clock;
  with.engine.run_until([&] { return with.stop() || have_fired(with, ways); },
                        clock.now() + kFirstHits);
  if (!have_fired(with, ways)) return;
  for (const auto& [tag, way] : ways) {
    if (way->replace_breakpoints() && tag < run.counting.size()) {
      run.counting[tag].by += fmt::format(" ({})", kBirths);
    }
  }
  // Until then, both have counted.
  with.engine.run_until([&] { return with.stop(); }, clock.now() + kOnTheWay);
  with.parts.counters.forget_in_progress();
  log::note("points are counted by uprobes from now on: {}", kBirths);
}

bool uprobes_are_better(const BreakpointCost& cost) {
  if (!cost.longer) return cost.hot_line;
  // A cache line that is hot is a reason by itself to believe what was measured.
  return (cost.hot_line ? *cost.longer : cost.low) > cost.uprobe_share + kMargin;
}

double lost_by(const BreakpointCost& cost) {
  return cost.longer ? std::max(0.0, cost.low) / (1 + std::max(0.0, cost.low)) : 0;
}

bool has_breakpoints(const progress::Armory& armory, std::uint32_t tag) {
  return std::any_of(armory.breakpoints.begin(), armory.breakpoints.end(),
                     [tag](const auto& each) { return each.tag == tag; });
}

std::string why_uprobes(const BreakpointCost& cost) {
  std::string why = "a hardware breakpoint ";
  why += cost.hot_line ? "would stand in the 64 bytes of a hot loop" : "would be hit often";
  if (!cost.longer) return why;
  return why + fmt::format(", and work took {:.0f} % longer with it", 100 * *cost.longer);
}

std::vector<std::uint32_t> dear_breakpoints(const Calibration& with) {
  std::vector<std::uint32_t> tags;
  const progress::Armory& armory = with.parts.armory;
  const auto& points = with.parts.counters.points();
  for (std::uint32_t tag = 0; tag < points.size(); ++tag) {
    if (points[tag].kind != progress::CountedPoint::Kind::throughput) continue;
    if (!has_breakpoints(armory, tag)) continue;
    const bool dear =
        is_hot(with, tag) || visits_share(with, tag, armory.visit_cost_ns(tag)) > kDear;
    if (dear) tags.push_back(tag);
  }
  return tags;
}

KeptBreakpoints choose_counting(const Calibration& with, Nanoseconds budget_ns, Run& run) {
  KeptBreakpoints kept;
  if (!with.parts.other_way) return kept;
  const auto tags = dear_breakpoints(with);
  for (const std::uint32_t tag : tags) {
    if (with.stop()) break;
    const auto way = with.parts.other_way(tag);
    if (!way) continue;
    const BreakpointCost cost =
        cost_of_breakpoints(with, tag, *way, budget_ns / static_cast<Nanoseconds>(tags.size()));
    const std::string& name = with.parts.counters.points()[tag].name;
    log::verbose("{}: work takes {} longer with its breakpoints{}; uprobes would take {:.1f} %",
                 name,
                 cost.longer ? fmt::format("{:.1f} % [{:.1f}, {:.1f}]", 100 * *cost.longer,
                                           100 * cost.low, 100 * cost.high)
                             : "an unknown time",
                 cost.hot_line ? ", in a hot cache line" : "", 100 * cost.uprobe_share);
    // Uprobes that were only opened, and did not fire, are not trusted.
    if (way->hits() == 0 || !uprobes_are_better(cost) || !way->replace_breakpoints()) {
      if (cost.longer) kept.emplace(tag, cost);
      continue;
    }
    const std::string why = why_uprobes(cost);
    if (tag < run.counting.size()) run.counting[tag].by += fmt::format(" ({})", why);
    log::note("{}: counted by uprobes from now on: {}", name, why);
  }
  return kept;
}

}  // namespace causalctl::causal
