#include "controller/session/arm_points.h"

#include <fmt/format.h>

#include <algorithm>

#include "controller/base/log.h"
#include "controller/perf/visit_trial.h"
#include "controller/progress/progress.h"
#include "controller/session/facilities.h"

namespace causalctl::session {
namespace {

// Records the trials of the ways of counting. Notes one that never fired, since another one
// replaces it.
void note_ways_of_counting(const std::vector<progress::Armed>& all, config::CountBy count_by,
                           Recording& recording) {
  const auto any = [&all](progress::CountedBy by) {
    return std::any_of(all.begin(), all.end(), [by](const auto& armed) { return armed.by == by; });
  };
  const bool by_uprobe = any(progress::CountedBy::uprobe);
  if (by_uprobe) record({perf::uprobe_trial()}, recording);
  const bool breakpoints_tried = by_uprobe && count_by == config::CountBy::automatic;
  if (!breakpoints_tried && !any(progress::CountedBy::breakpoint)) return;
  const Trial& breakpoint = perf::breakpoint_trial();
  record({breakpoint}, recording);
  if (breakpoint.is_seen()) return;
  recording.warnings.push_back(
      fmt::format("points are counted by uprobes: a hardware breakpoint on causalctl itself was {}",
                  breakpoint.finding));
}

}  // namespace

Armory arm_points(config::CountBy count_by, const progress::CountedPoints& points, Pid target,
                  perf::Session& session, Recording& recording) {
  Armory armory;
  const auto all = progress::arm(points.resolved, target, count_by, session);
  for (std::size_t tag = 0; tag < all.size(); ++tag) {
    const progress::Point& point = points.resolved[tag];
    const progress::Armed& armed = all[tag];
    const std::string text = progress::text_of(armed);
    if (armed.places > 1) {
      log::note("{}: counted by {}, all as one point", point.name, text);
    } else {
      log::verbose("{}: counted by {}", point.name, text);
    }
    armory.visit_costs_ns.push_back(armed.visit_cost_ns);
    recording.counting.push_back({points.counted[tag].name, text, armed.visit_cost_ns, armed.by});
    if (armed.by != progress::CountedBy::breakpoint) continue;
    for (const unwind::Place& place : point.places) armory.breakpoints.push_back(place.address);
  }
  note_ways_of_counting(all, count_by, recording);
  return armory;
}

}  // namespace causalctl::session
