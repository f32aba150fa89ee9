// The controller's side of the machine: records, sampling and pauses. Sampling is that of
// perf/session.cc with task-clock events; pauses are those of tracee/inject/stub.S.
#include <algorithm>

#include "controller/base/error.h"
#include "controller/pause/sigtrap_channel.h"
#include "tests/sim/machine.h"

namespace causalctl::sim {
namespace {

constexpr Nanoseconds kLongestPause = kSecond;  // LONGEST_NS of stub.S

}  // namespace

void Machine::emit(const Thread& of, perf::Event event) {
  if (!watched_ || !of.followed_) return;
  if (options_.lost_share > 0 && random_.uniform() < options_.lost_share) {
    ++records_lost_;
    return;
  }
  events_.push_back(std::move(event));
}

void Machine::emit_switch(const Core& core, perf::SwitchKind kind) {
  emit(*core.thread, perf::SwitchEvent{core.thread->id_, now_ns_, cores_.index_of(core), kind});
}

void Machine::watch() {
  watched_ = true;
  for (Thread* thread : live_) {
    if (!thread->seen_) continue;
    thread->followed_ = true;
    const bool blocked = thread->state_ == State::blocked;
    events_.push_back(perf::ThreadStartEvent{thread->id_, {}, now_ns_, blocked, thread->foreign_});
  }
}

std::vector<perf::Event> Machine::take_events() {
  std::erase_if(events_, [this](perf::Event& event) {
    auto* birth = std::get_if<perf::ThreadStartEvent>(&event);
    return birth != nullptr && !follow(*birth);
  });
  return std::exchange(events_, {});
}

bool Machine::follow(perf::ThreadStartEvent& birth) {
  Thread* thread = threads_[static_cast<std::size_t>(birth.thread.tid - kFirstTid)].get();
  if (thread == nullptr) return false;
  if (std::exchange(thread->followed_, true)) return true;
  birth.blocked = thread->state_ == State::blocked;
  if (thread->state_ == State::running) advance(cores_[thread->core_]);
  thread->last_sample_cpu_ns_ = thread->cpu_ns_;
  return true;
}

void Machine::set_period_of(Thread& thread) {
  if (period_ns_ == 0) return;
  thread.period_ns_ =
      static_cast<Nanoseconds>(static_cast<double>(period_ns_) * random_.uniform(0.75, 1.25));
  thread.next_sample_cpu_ns_ = thread.cpu_ns_ + thread.period_ns_;
  thread.sampled_ = false;
}

void Machine::set_period(Nanoseconds period_ns) {
  INVARIANT(period_ns > 0);
  period_ns_ = period_ns;
  for (Core& core : cores_) advance(core);
  for (Thread* thread : live_) set_period_of(*thread);
  for (Core& core : cores_) {
    if (core.thread != nullptr) plan(core);
  }
}

void Machine::jitter() {
  for (Core& core : cores_) advance(core);
  for (Thread* thread : live_) {
    if (thread->sampled_) set_period_of(*thread);
  }
  for (Core& core : cores_) {
    if (core.thread != nullptr) plan(core);
  }
}

void Machine::enable_sampling(bool on) {
  if (on == sampling_) return;
  sampling_ = on;
  for (Core& core : cores_) advance(core);
  for (Thread* thread : live_) {
    thread->last_sample_cpu_ns_ = thread->cpu_ns_;
    thread->next_sample_cpu_ns_ = thread->cpu_ns_ + thread->period_ns_;
  }
  for (Core& core : cores_) {
    if (core.thread != nullptr) plan(core);
  }
}

void Machine::take_sample(Core& core) {
  Thread& thread = *core.thread;
  perf::SampleEvent sample;
  sample.thread = thread.id_;
  sample.time_ns = now_ns_;
  sample.cpu = cores_.index_of(core);
  // The limit is that of ThreadEvents::sample_worth.
  sample.period_ns = std::min(thread.cpu_ns_ - thread.last_sample_cpu_ns_, 2 * thread.period_ns_);
  sample.callers = {address_of(thread.shot_.in_stub() ? kStubLine : thread.line_)};
  thread.last_sample_cpu_ns_ = thread.cpu_ns_;
  thread.next_sample_cpu_ns_ = thread.cpu_ns_ + thread.period_ns_;
  thread.sampled_ = true;
  occupy(core, options_.sample_cost_ns);
  emit(thread, std::move(sample));
}

void Machine::steal(std::uint32_t index, Nanoseconds length_ns) {
  Core& core = cores_[index];
  core.stolen_until_ns = now_ns_ + length_ns;
  if (core.thread == nullptr || core.stolen) return;
  advance(core);
  emit_switch(core, perf::SwitchKind::out_preempted);
  core.stolen = true;
  core.since_ns = std::max(core.since_ns, core.stolen_until_ns + options_.switch_ns);
  plan(core);
}

Shot* Machine::shot(Tid tid) {
  const auto index = static_cast<std::size_t>(tid - kFirstTid);
  return tid >= kFirstTid && index < threads_.size() && threads_[index] ? &threads_[index]->shot_
                                                                        : nullptr;
}

void Machine::arm(Tid tid, Nanoseconds owed_total_ns, Nanoseconds stale_after_ns,
                  Nanoseconds delay_ns) {
  Thread& thread = *threads_.at(static_cast<std::size_t>(tid - kFirstTid));
  Core* core = thread.state_ == State::running ? &cores_[thread.core_] : nullptr;
  if (core != nullptr) advance(*core);
  Shot& shot = thread.shot_;
  shot.stage = Shot::Stage::armed;
  shot.armed_at_ns = now_ns_;
  shot.stale_after_ns = stale_after_ns;
  shot.owed_total_ns = owed_total_ns;
  shot.fire_cpu_ns = thread.cpu_ns_ + pause::kShotPeriod + (core != nullptr ? delay_ns : 0);
  if (core != nullptr) plan(*core);
}

void Machine::owe(Tid tid, Nanoseconds owed_total_ns) {
  Thread& thread = *threads_.at(static_cast<std::size_t>(tid - kFirstTid));
  thread.shot_.owed_total_ns = owed_total_ns;
  if (thread.shot_.stage != Shot::Stage::spinning || thread.state_ != State::running) return;
  Core& core = cores_[thread.core_];
  advance(core);
  plan(core);
}

void Machine::enter_stub(Core& core) {
  Shot& shot = core.thread->shot_;
  shot.entered_at_ns = shot.paused_from_ns = now_ns_;
  const Nanoseconds owed_ns = shot.owed_total_ns - shot.paid_total_ns;
  if (now_ns_ - shot.armed_at_ns > shot.stale_after_ns || owed_ns <= 0) return leave_stub(core);
  pause_in_stub(core);
}

// Returns when the pause ends, unless the debt changes before.
Nanoseconds Machine::pause_end(const Shot& shot) {
  return std::min(shot.paused_from_ns + shot.owed_total_ns - shot.paid_total_ns,
                  shot.entered_at_ns + kLongestPause);
}

void Machine::pause_in_stub(Core& core) {
  Shot& shot = core.thread->shot_;
  if (options_.spin_in_stub) {
    shot.stage = Shot::Stage::spinning;
    return;
  }
  shot.stage = Shot::Stage::sleeping;
  const auto slack_ns =
      static_cast<Nanoseconds>(random_.uniform(0, static_cast<double>(options_.timer_slack_ns)));
  wake_by_device_at(*core.thread, pause_end(shot) + slack_ns);
  leave(core, perf::SwitchKind::out_blocked);
}

void Machine::go_on_in_stub(Core& core) {
  Shot& shot = core.thread->shot_;
  shot.paid_total_ns += now_ns_ - shot.paused_from_ns;
  shot.paused_from_ns = now_ns_;
  const Nanoseconds owed_ns = shot.owed_total_ns - shot.paid_total_ns;
  if (owed_ns > 0 && now_ns_ < shot.entered_at_ns + kLongestPause) return pause_in_stub(core);
  leave_stub(core);
}

void Machine::leave_stub(Core& core) {
  Shot& shot = core.thread->shot_;
  shot.left_at_ns = shot.paused_from_ns;
  shot.stage = Shot::Stage::left;
  occupy(core, options_.pause_cost_ns);
}

}  // namespace causalctl::sim
