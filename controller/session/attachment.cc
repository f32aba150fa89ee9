#include "controller/session/attachment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <random>
#include <system_error>
#include <thread>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"
#include "controller/perf/kept_open.h"
#include "controller/perf/visit_trial.h"
#include "controller/progress/progress.h"
#include "controller/session/facilities.h"
#include "controller/session/identity.h"
#include "controller/session/losses.h"
#include "controller/tracee/process.h"

namespace causalctl::session {
namespace {

constexpr Nanoseconds kDigestPatience = kSecond;
constexpr Nanoseconds kLookForUnloadsEvery = 50 * kMillisecond;

std::vector<tracee::CodeBytes> code_now(Pid target, const std::vector<Address>& places) {
  return tracee::code_of(target, procfs::maps(target).value_or(std::vector<procfs::Map>()), places);
}

std::vector<Address> places_of(const progress::CountedPoints& points) {
  std::vector<Address> places;
  for (const progress::Point& point : points.resolved) {
    for (const unwind::Place& place : point.places) places.push_back(place.address);
  }
  return places;
}

progress::CountedPoints resolve_points(const config::Progress& progress, Pid target,
                                       unwind::Symbolizer& symbolizer,
                                       const tracee::Guardian& guardian) {
  try {
    return progress::resolve_all(progress, target, symbolizer);
  } catch (const UsageError& error) {
    if (!guardian.is_suspended()) throw;
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

void warn_of_filter(const std::vector<Trial>& tried, Recording& recording) {
  for (const Trial& trial : tried) {
    if (trial.facility != Facility::bpf || trial.outcome != Outcome::never_fired) continue;
    recording.warnings.push_back(
        fmt::format("shots are not held back in the kernel ({}): /proc is read before each of them",
                    trial.finding));
  }
}

// Closes the session in a thread of its own, because the kernel needs some time to take its uprobes
// out of the target's text.
std::jthread close_beside(std::unique_ptr<perf::Session>& session,
                          std::optional<perf::EventCloser>& closer, const Precedence& precedence) {
  const auto close = [&] {
    session.reset();
    closer.reset();
  };
  try {
    return std::jthread([&, close] {
      const auto boost = precedence.boost();
      close();
    });
  } catch (const std::system_error&) {
    close();
    return {};
  }
}

}  // namespace

Attachment::Attachment(Pid target, tracee::Guardian& guardian, const config::Progress& progress,
                       Recording& recording)
    : target_(target),
      guardian_(guardian),
      count_by_(progress.count_by),
      recording_(recording),
      precedence_(target),
      end_watch_(target),
      symbolizer_(std::make_unique<unwind::Symbolizer>(target)),
      points_(resolve_points(progress, target, *symbolizer_, guardian)),
      places_(places_of(points_)),
      first_thread_(target) {
  identify(target, *symbolizer_, recording);
  warn_of_remarks(points_, recording);
}

void Attachment::try_facilities(std::string_view wanted) {
  tried_ = session::try_facilities(wanted, "causalctl ab");
  record(tried_, recording_);
}

void Attachment::attach(perf::SessionOptions options) {
  precedence_.begin();
  before_ = guardian_.digest(places_);
  code_before_ = code_now(target_, places_);
  options.ours = {getpid(), guardian_.helper()};
  options.tried = tried_;
  session_ = std::make_unique<perf::Session>(target_, options);
  if (const auto& trial = session_->scheduler_trial()) record({*trial}, recording_);
  armory_ = arm_points(count_by_, points_, target_, *session_, recording_);
  watch_for_unloads();
}

void Attachment::watch_for_unloads() {
  std::vector<Address> breakpoints;
  for (const auto& [address, tag] : armory_.breakpoints) breakpoints.push_back(address);
  unloads_ = progress::is_in_loaded_later(breakpoints, target_)
                 ? progress::Unloads(target_, breakpoints)
                 : progress::Unloads();
}

std::unique_ptr<progress::OtherWay> Attachment::other_way(std::uint32_t tag) {
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

void Attachment::recounted(std::uint32_t tag, const progress::Armed& armed) {
  Counting& counting = recording_.counting[tag];
  counting.by = progress::text_of(armed);
  counting.visit_cost_ns = armory_.visit_costs_ns[tag] = armed.visit_cost_ns;
  counting.way = armed.by;
  std::erase_if(armory_.breakpoints, [tag](const auto& each) { return each.tag == tag; });
  watch_for_unloads();
  record({perf::uprobe_trial()}, recording_);
}

const pause::PauserChoice& Attachment::open_pauses(const pause::PauserOptions& options) {
  try {
    pauses_ = pause::make_pauser(target_, guardian_, options);
  } catch (const TargetGone& gone) {
    throw_with_cause(gone, guardian_, end_watch_, recording_.counting);
  }
  log::verbose("a pause by {} costs its thread {} µs besides", pauses_.pauser->name(),
               pauses_.pause_cost_ns / 1000);
  record(pauses_.tried, recording_);
  if (!pauses_.tried.empty()) log::verbose("tried for pauses: {}", describe(pauses_.tried));
  if (!pauses_.reason.empty()) {
    recording_.warnings.push_back("pauses by ptrace: " + pauses_.reason);
  }
  warn_of_filter(pauses_.tried, recording_);
  return pauses_;
}

void Attachment::begin_work() {
  interrupts_.emplace();
  cpu_limits_.emplace(target_);
  children_.emplace(target_);
}

int Attachment::interrupts() {
  look_for_unloads();
  look_for_priorities();
  const bool must_end = guardian_.was_killed() || !unloaded_.empty() || outranked_;
  return std::max<int>(must_end, Interrupts::count());
}

void Attachment::look_for_unloads() {
  const Nanoseconds now_ns = monotonic_now();
  if (!unloaded_.empty() || now_ns < next_look_ns_) return;
  next_look_ns_ = now_ns + kLookForUnloadsEvery;
  unloaded_ = unloads_.gone();
  if (unloaded_.empty()) return;
  recording_.warnings.push_back(
      fmt::format("{} was unloaded, or loaded again elsewhere, while breakpoints stood in it. The "
                  "run was ended early, because they count other code or none; use --count-by "
                  "uprobe",
                  unloaded_));
}

void Attachment::look_for_priorities() {
  if (outranked_ || precedence_.lost().empty()) return;
  outranked_ = true;
  recording_.warnings.push_back(fmt::format("{}. The run was ended early", precedence_.lost()));
}

void Attachment::abandon() {
  pauses_.pauser.reset();
  for (const std::string& problem : guardian_.restore()) log::note("{}", problem);
}

void Attachment::let_go() {
  if (guardian_.is_suspended()) guardian_.release();
}

void Attachment::detach() {
  session::warn_of_losses(*session_, recording_);
  if (children_) {
    if (auto text = text_of(children_->seen(), target_, "causalctl attach")) {
      recording_.warnings.push_back(std::move(*text));
    }
  }
  const bool killed_before = guardian_.was_killed();
  if (killed_before) recording_.warnings.emplace_back(kGuardianKilled);
  if (recording_.reason == EndReason::first_thread_ended) {
    recording_.warnings.push_back(session::first_thread_ended(target_));
  }
  const auto left = restore();
  if (!killed_before && guardian_.was_killed()) {
    recording_.warnings.emplace_back(kGuardianKilledAtEnd);
  }
  compare_digests(left);
  tell_end(guardian_, end_watch_, recording_);
  precedence_.end();
  recording_.ended = true;
}

// Returns what is left in the target, as Guardian::restore() does.
std::vector<std::string> Attachment::restore() {
  if (pauses_.pauser) {
    for (std::string& notice : pauses_.pauser->notices()) {
      recording_.warnings.push_back(std::move(notice));
    }
  }
  pauses_.pauser.reset();  // closes the pause events, so that no shot can fire from here on
  perf::close_kept();
  std::jthread closing = close_beside(session_, closer_, precedence_);
  auto left = guardian_.restore();
  if (closing.joinable()) closing.join();
  recording_.left_in_target = !left.empty();
  recording_.stopped_calls = guardian_.stopped_calls();
  return left;
}

// Where another process may have a uprobe at a place of ours, what stays there is its own.
std::vector<std::string> Attachment::changes_in(const tracee::Digest& after) const {
  auto changes = tracee::differences(before_, after);
  if (changes.empty()) return changes;
  const bool others = tracee::perf_events_elsewhere(std::array{getpid(), guardian_.helper()});
  const auto own = others ? std::vector<Address>() : armory_.uprobes;
  for (const std::string& name :
       tracee::changed_by_uprobes(code_before_, code_now(target_, places_), own)) {
    std::erase_if(changes, [&](const std::string& each) { return each.starts_with(name + ": "); });
  }
  return changes;
}

void Attachment::compare_digests(const std::vector<std::string>& left) {
  auto& warnings = recording_.warnings;
  if (recording_.reason == EndReason::target_exited || procfs::has_ended(target_)) {
    recording_.digest = DigestResult::unknown;
    warnings.insert(warnings.end(), left.begin(), left.end());
    return;
  }
  // Some changes pass, as when a signal is just stopping a thread, or the mask while a thread is
  // made.
  const Nanoseconds until_ns = monotonic_now() + kDigestPatience;
  auto after = guardian_.digest(places_);
  auto changes = changes_in(after);
  while (!changes.empty() && monotonic_now() < until_ns) {
    sleep_until(monotonic_now() + kMillisecond);
    after = guardian_.digest(places_);
    changes = changes_in(after);
  }
  if (procfs::has_ended(target_)) {
    recording_.digest = DigestResult::unknown;
    warnings.emplace_back("the target ended while it was left");
    return;
  }
  for (const std::string& change : tracee::own_changes(before_, after)) {
    log::verbose("the target itself has changed: {}", change);
  }
  recording_.digest = changes.empty() && left.empty() ? DigestResult::same : DigestResult::changed;
  for (const std::string& change : changes) warnings.push_back("target state: " + change);
  warnings.insert(warnings.end(), left.begin(), left.end());
}

}  // namespace causalctl::session
