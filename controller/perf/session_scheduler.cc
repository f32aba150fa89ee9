// The part of a session that follows switches and wake-ups by BPF programs.
#include <algorithm>
#include <utility>

#include "controller/base/log.h"
#include "controller/perf/session.h"
#include "controller/perf/trials.h"

namespace causalctl::perf {

bool Session::samples_wakers() const {
  return std::any_of(plan_.events.begin(), plan_.events.end(),
                     [](const EventTemplate& event) { return event.wakes; });
}

void Session::open_scheduler() {
  scheduler_trial_.emplace();
  scheduler_ = try_scheduler(*scheduler_trial_, {.wakings = plan_.waking.has_value(),
                                                 .leaving = plan_.leaving,
                                                 .wakers = plan_.leaving && samples_wakers(),
                                                 .kernel_chain = plan_.sampling.kernel_chain,
                                                 .children = set_->takes_children()});
  plan_.by_scheduler = scheduler_.has_value();
  if (scheduler_) bits_ = scheduler_->processes();
  if (scheduler_ && plan_.leaving) {
    std::erase_if(plan_.events, [](const EventTemplate& event) { return event.wakes; });
  }
  log::verbose("switches and wake-ups by BPF: {}", scheduler_trial_->finding);
}

// Without it a chain in such a handler ends behind the instruction that was interrupted.
void Session::open_interrupted() {
  if (!plan_.sample || plan_.sampling.stack_bytes == 0) return;
  try {
    interrupted_.emplace(*process_bits());
    plan_.program = interrupted_->program_of_thread();
  } catch (const Error& error) {
    log::verbose("stacks below those of signal handlers are not copied: {}", error.what());
  }
}

void Session::complete_samples(EventBatch& batch, Nanoseconds older_than_ns) {
  interrupted_->read();
  InterruptedCopies& copies = interrupted_->copies();
  if (copies.empty()) return;
  batch.complete_samples([&copies](SampleEvent& sample) { copies.give(sample); });
  copies.forget(older_than_ns);
}

void Session::read_scheduler() {
  SchedulerRecords records = scheduler_->read();
  losses_.records_lost += records.lost;
  if (records.lost > 0) lost_since_scan_ = true;
  for (SampleEvent& sample : records.samples) take_sample(std::move(sample));
  for (const CoreSwitch& change : records.switches) take(change);
  for (const CoreWaking& waking : records.wakings) {
    if (!give(waking)) early_wakings_.keep(waking.waker, waking.time_ns, waking);
  }
}

void Session::take(CoreSwitch change) {
  if (give(change)) return;
  for (Tid CoreSwitch::*thread : {&CoreSwitch::left, &CoreSwitch::came}) {
    CoreSwitch of_one = change;
    of_one.left = of_one.came = 0;
    of_one.*thread = change.*thread;
    if (change.*thread != 0) early_switches_.keep(change.*thread, change.time_ns, of_one);
  }
}

// As it is wanted now.
void Session::sample_leaving() {
  if (!scheduler_ || !plan_.leaving) return;
  const bool on = plan_.running && plan_.sampling_on;
  scheduler_->sample_leaving(on ? std::min(plan_.sampling.stack_bytes, kLeavingStackBytes) : 0);
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
