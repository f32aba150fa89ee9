#include "controller/session/armed_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/perf/visit_trial.h"
#include "controller/session/facilities.h"

namespace causalctl::session {
namespace {

constexpr Nanoseconds kLookForUnloadsEvery = 50 * kMillisecond;

std::vector<Address> places_of(const progress::CountedPoints& points) {
  std::vector<Address> places;
  for (const progress::Point& point : points.resolved) {
    for (const unwind::Place& place : point.places) places.push_back(place.address);
  }
  return places;
}

progress::CountedPoints resolve_points(const config::Progress& progress, Pid target,
                                       unwind::Symbolizer& symbolizer, bool is_suspended) {
  try {
    return progress::resolve_all(progress, target, symbolizer);
  } catch (const UsageError& error) {
    if (!is_suspended) throw;
    throw UsageError(error.what(),
                     error.hint() +
                         "; what is not loaded yet cannot be named: for a point in that "
                         "start it, then causalctl attach");
  }
}

// What was tried for them; a way that never fired is told, since another one was taken.
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

progress::Armory arm_points(config::CountBy count_by, const progress::CountedPoints& points,
                            Pid target, perf::Session& session, Recording& recording) {
  progress::Armory armory;
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
    recording.counting.push_back(
        {points.counted[tag].name, text, armed.visit_cost_ns, armed.by, armed.can_be_uprobe});
    for (const unwind::Place& place : point.places) {
      if (armed.by == progress::CountedBy::breakpoint) {
        armory.breakpoints.push_back({place.address, static_cast<std::uint32_t>(tag)});
      } else if (armed.by == progress::CountedBy::uprobe) {
        armory.uprobes.push_back(place.address);
      }
    }
  }
  note_ways_of_counting(all, count_by, recording);
  return armory;
}

void warn_of_remarks(const progress::CountedPoints& points, Recording& recording) {
  auto& warnings = recording.warnings;
  for (const progress::Point& point : points.resolved) {
    for (const std::string& remark : point.remarks) {
      if (std::find(warnings.begin(), warnings.end(), remark) != warnings.end()) continue;
      log::note("warning: {}", remark);
      warnings.push_back(remark);
    }
  }
}

}  // namespace

ArmedPoints::ArmedPoints(Pid target, const config::Progress& progress,
                         unwind::Symbolizer& symbolizer, bool is_suspended, Recording& recording)
    : target_(target),
      count_by_(progress.count_by),
      recording_(recording),
      points_(resolve_points(progress, target, symbolizer, is_suspended)),
      places_(places_of(points_)) {
  warn_of_remarks(points_, recording);
}

void ArmedPoints::arm(perf::Session& session) {
  session_ = &session;
  armory_ = arm_points(count_by_, points_, target_, session, recording_);
  watch_for_unloads();
}

void ArmedPoints::watch_for_unloads() {
  std::vector<Address> breakpoints;
  for (const auto& [address, tag] : armory_.breakpoints) breakpoints.push_back(address);
  unloads_ = progress::is_in_loaded_later(breakpoints, target_)
                 ? progress::Unloads(target_, breakpoints)
                 : progress::Unloads();
}

std::unique_ptr<progress::OtherWay> ArmedPoints::other_way(std::uint32_t tag) {
  const bool possible = tag < recording_.counting.size() &&
                        recording_.counting[tag].can_be_uprobe &&
                        recording_.counting[tag].way == progress::CountedBy::breakpoint &&
                        count_by_ == config::CountBy::automatic;
  if (!possible) return nullptr;
  for (const unwind::Place& place : points_.resolved[tag].places) {
    armory_.uprobes.push_back(place.address);
  }
  try {
    return std::make_unique<progress::UprobesBeside>(
        points_.resolved[tag], target_, tag, *session_, *closer_,
        [this, tag](const progress::Armed& armed) { recounted(tag, armed); });
  } catch (const Error& error) {
    log::verbose("{}: uprobes cannot count it: {}", points_.counted[tag].name, error.what());
    return nullptr;
  }
}

void ArmedPoints::recounted(std::uint32_t tag, const progress::Armed& armed) {
  Counting& counting = recording_.counting[tag];
  counting.by = progress::text_of(armed);
  counting.visit_cost_ns = armory_.visit_costs_ns[tag] = armed.visit_cost_ns;
  counting.way = armed.by;
  std::erase_if(armory_.breakpoints, [tag](const auto& each) { return each.tag == tag; });
  watch_for_unloads();
  record({perf::uprobe_trial()}, recording_);
}

bool ArmedPoints::look_for_unloads() {
  const Nanoseconds now_ns = monotonic_now();
  if (is_unloaded_ || now_ns < next_look_ns_) return is_unloaded_;
  next_look_ns_ = now_ns + kLookForUnloadsEvery;
  const std::string unloaded = unloads_.gone();
  if (unloaded.empty()) return false;
  is_unloaded_ = true;
  recording_.warnings.push_back(
      fmt::format("{} was unloaded, or loaded again elsewhere, while breakpoints stood in it. The "
                  "run was ended early, because they count other code or none; use --count-by "
                  "uprobe",
                  unloaded));
  return true;
}

}  // namespace causalctl::session
