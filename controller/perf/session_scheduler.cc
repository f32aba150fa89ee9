// The part of a session that follows switches and wake-ups by BPF programs.
#include <algorithm>
#include <utility>

#include "controller/base/log.h"
#include "controller/perf/session.h"
#include "controller/perf/trials.h"

namespace causalctl::perf {
namespace {

// Calls give(each) for the records of before, then for the fresh ones; keeps those of threads that
// are not known yet.
template <typename Change, typename Give>
void give_all(std::vector<Change>& early, std::vector<Change> fresh, Nanoseconds older_than_ns,
              Give&& give) {
  const auto is_done = [&](Change& each) { return give(each) || each.time_ns < older_than_ns; };
  std::erase_if(early, is_done);
  std::erase_if(fresh, is_done);
  early.insert(early.end(), fresh.begin(), fresh.end());
}

}  // namespace

void Session::open_scheduler() {
  scheduler_trial_.emplace();
  scheduler_ = try_scheduler(*scheduler_trial_, {.wakings = plan_.waking.has_value(),
                                                 .leaving = plan_.leaving,
                                                 .children = set_->takes_children()});
  plan_.by_scheduler = scheduler_.has_value();
  if (scheduler_) bits_ = scheduler_->processes();
  log::verbose("switches and wake-ups by BPF: {}", scheduler_trial_->finding);
}

// What is old is kept here: the records of births may be as old.
void Session::read_scheduler() {
  SchedulerRecords records = scheduler_->read();
  losses_.records_lost += records.lost;
  if (records.lost > 0) lost_since_scan_ = true;
  for (SampleEvent& sample : std::exchange(records.leaving, {})) {
    if (!give_if_known(sample)) early_samples_.push_back(std::move(sample));
  }
  give_early(0, std::move(records));
}

// As it is wanted now.
void Session::sample_leaving() {
  if (!scheduler_ || !plan_.leaving) return;
  const bool on = plan_.running && plan_.sampling_on;
  scheduler_->sample_leaving(on ? std::min(plan_.sampling.stack_bytes, kLeavingStackBytes) : 0);
}

void Session::give_early(Nanoseconds older_than_ns, SchedulerRecords records) {
  give_all(early_switches_, std::move(records.switches), older_than_ns,
           [this](CoreSwitch& change) { return give(change); });
  give_all(early_wakings_, std::move(records.wakings), older_than_ns,
           [this](const CoreWaking& waking) { return give(waking); });
}

std::optional<Session::Known> Session::thread_at(Tid tid, Nanoseconds time_ns) const {
  const auto thread = threads_.find(tid);
  if (thread == threads_.end()) {
    const auto peer = peers_.thread_at(tid, time_ns);
    return peer ? std::optional(Known{*peer, true}) : std::nullopt;
  }
  const ThreadEvents& events = thread->second;
  const bool had_ended = events.exit_seen() && time_ns > events.exited_ns();
  if (time_ns < events.since_ns() || had_ended) return std::nullopt;
  return Known{events.thread(), false};
}

bool Session::give(CoreSwitch& change) {
  const auto& [time_ns, cpu, left, blocked, place, came] = change;
  if (left != 0) {
    if (const auto thread = thread_at(left, time_ns)) {
      merger_.push(SwitchEvent{thread->id, time_ns, cpu,
                               blocked ? SwitchKind::out_blocked : SwitchKind::out_preempted,
                               place});
      change.left = 0;
    }
  }
  if (came != 0) {
    if (const auto thread = thread_at(came, time_ns)) {
      merger_.push(SwitchEvent{thread->id, time_ns, cpu, SwitchKind::in});
      if (!thread->is_peer) ++switches_in_;
      change.came = 0;
    }
  }
  return change.left == 0 && change.came == 0;
}

bool Session::give(const CoreWaking& waking) {
  const auto thread = thread_at(waking.waker, waking.time_ns);
  if (!thread) return false;
  if (thread->is_peer) {
    merger_.push(WakeEvent{thread->id, waking.woken, waking.time_ns, waking.context});
  } else {
    give_wake(thread->id, waking.woken, waking.time_ns, waking.context);
  }
  return true;
}

}  // namespace causalctl::perf
