#include "tests/sim/machine.h"

#include <algorithm>
#include <limits>

#include "controller/base/error.h"

namespace causalctl::sim {
namespace {

constexpr Nanoseconds kForever = std::numeric_limits<Nanoseconds>::max() / 4;
constexpr unsigned kMostInOneInstant = 100'000;  // with more, the program computes nothing for ever

}  // namespace

Thread::Suspend Thread::compute(Line line, Nanoseconds mean_ns) {
  machine_.compute(*this, line, mean_ns);
  return {*this, remaining_ns_ <= 0};
}

Thread::Suspend Thread::spin(Line line) {
  machine_.spin(*this, line);
  return {*this};
}

Thread::Suspend Thread::block() {
  machine_.block(*this);
  return {*this};
}

Thread::Suspend Thread::device_io(Nanoseconds length_ns) {
  machine_.wake_by_device_at(*this, machine_.now() + length_ns);
  machine_.block(*this);
  return {*this};
}

void Thread::visit(std::uint32_t tag) { machine_.visit(tag); }

Machine::Machine(const MachineOptions& options)
    : options_(options),
      random_(options.seed),
      cores_(options.cores),
      scheduler_(make_scheduler(cores_, options.scheduling)) {
  if (scheduler_->tick_ns() > 0) tick();
  if (options_.quota_ns > 0) begin_period();
}

Thread& Machine::add_thread() {
  const auto tid = kFirstTid + static_cast<Tid>(threads_.size());
  threads_.push_back(
      std::make_unique<Thread>(*this, ThreadId{tid, static_cast<std::uint32_t>(tid)}));
  return *threads_.back();
}

void Machine::start(Thread& thread, Task code) {
  thread.code_ = code.handle();
  code_.push_back(std::move(code));
  live_.push_back(&thread);
  thread.limited_ = options_.quota_ns > 0 && !thread.foreign_;
  set_period_of(thread);
  if (watched_ && !thread.foreign_) {
    events_.push_back(
        perf::ThreadStartEvent{thread.id_, current_ ? current_->id_ : ThreadId{}, now_ns_, false});
  }
  make_runnable(thread, current_ ? current_->core_ : 0);
  if (current_ == nullptr) schedule();
}

void Machine::end(Thread& thread) {
  thread.state_ = State::ended;
  emit(thread, perf::ThreadExitEvent{thread.id_, now_ns_});
  live_.erase(std::find(live_.begin(), live_.end(), &thread));
  const auto index = static_cast<std::size_t>(thread.id_.tid - kFirstTid);
  Task ended = std::move(code_[index]);
  threads_[index].reset();
}

void Machine::make_runnable(Thread& thread, std::uint32_t by) {
  thread.state_ = State::runnable;
  if (thread.limited_ && quota_.over) {
    scheduler_->withdraw(thread, now_ns_);
    quota_.stopped.push_back(&thread);
    return;
  }
  scheduler_->woken(thread, by, now_ns_);
}

void Machine::wake(Thread& thread) {
  INVARIANT(thread.state_ == State::blocked);
  if (current_ != nullptr) {
    emit(*current_,
         perf::WakeEvent{current_->id_, thread.id_.tid, now_ns_, perf::WakeContext::task});
  }
  const std::uint32_t by = current_ != nullptr ? current_->core_ : thread.core_;
  if (options_.wake_ns == 0) return make_runnable(thread, by);
  thread.woken_by_ = by;
  wake_by_device_at(thread, now_ns_ + options_.wake_ns);
}

void Machine::stop_spinning(Thread& thread) {
  thread.remaining_ns_ = 0;
  if (thread.state_ == State::running) plan(cores_[thread.core_]);
}

void Machine::wake_by_device_at(Thread& thread, Nanoseconds time_ns) {
  stops_.push({time_ns, ++order_, Kind::timer,
               static_cast<std::uint32_t>(thread.id_.tid - kFirstTid), ++thread.timer_version_});
}

void Machine::timer(Thread& thread) {
  if (const auto by = std::exchange(thread.woken_by_, std::nullopt)) {
    return make_runnable(thread, *by);
  }
  // Some core takes the interrupt, and the thread that runs there seems to be the waker.
  const auto at = static_cast<std::size_t>(random_.uniform(0, static_cast<double>(cores_.size())));
  if (const Thread* interrupted = cores_[at].thread; interrupted != nullptr) {
    emit(*interrupted,
         perf::WakeEvent{interrupted->id_, thread.id_.tid, now_ns_, perf::WakeContext::hardirq});
  }
  make_runnable(thread, thread.core_);  // its timer was set there
}

void Machine::visit(std::uint32_t tag) {
  Visits& visits = visits_[tag];
  if (visits.count++ == 0) visits.first_ns = now_ns_;
  visits.last_ns = now_ns_;
  emit(*current_, perf::VisitEvent{current_->id_, now_ns_, tag});
  if (watched_) occupy(cores_[current_->core_], options_.visit_cost_ns);
}

void Machine::compute(Thread& thread, Line line, Nanoseconds mean_ns) {
  const double factor = line == options_.fast_line ? 1 - options_.speedup : 1;
  INVARIANT(++computed_in_this_instant_ < kMostInOneInstant);
  thread.line_ = line;
  thread.remaining_ns_ = static_cast<Nanoseconds>(static_cast<double>(mean_ns) * factor *
                                                  random_.lognormal(options_.spread));
}

void Machine::spin(Thread& thread, Line line) {
  spinning_lines_.insert(line);
  thread.line_ = line;
  thread.remaining_ns_ = kForever;
}

void Machine::block(Thread& thread) {
  INVARIANT(&thread == current_);
  leave(cores_[thread.core_], perf::SwitchKind::out_blocked);
}

Visits Machine::visits(std::uint32_t tag) const {
  const auto found = visits_.find(tag);
  return found == visits_.end() ? Visits{} : found->second;
}

void Machine::run_until(Nanoseconds time_ns) {
  schedule();
  while (!stops_.empty() && stops_.top().time_ns <= time_ns) {
    const Stop stop = stops_.top();
    stops_.pop();
    if (stop.kind == Kind::core && stop.version != cores_[stop.index].version) continue;
    INVARIANT(stop.time_ns >= now_ns_);
    if (stop.time_ns > now_ns_) computed_in_this_instant_ = 0;
    now_ns_ = stop.time_ns;
    if (stop.kind == Kind::core) {
      stop_at(cores_[stop.index]);
    } else if (stop.kind == Kind::tick) {
      tick();
    } else if (stop.kind == Kind::period) {
      begin_period();
    } else if (Thread* thread = threads_[stop.index].get();
               thread != nullptr && thread->timer_version_ == stop.version) {
      timer(*thread);
    }
    enforce_quota();
    schedule();
  }
  now_ns_ = std::max(now_ns_, time_ns);
}

void Machine::tick() {
  scheduler_->tick(now_ns_);
  stops_.push({now_ns_ + scheduler_->tick_ns(), ++order_, Kind::tick});
}

void Machine::schedule() {
  while (const auto next = scheduler_->next(now_ns_)) {
    Core& core = cores_[next->core];
    if (core.thread != nullptr) preempt(core);
    dispatch(core, *next->thread);
  }
}

Nanoseconds Machine::idle_ns() const {
  return idle_ns_ +
         static_cast<Nanoseconds>(cores_.size() - cores_.busy) * (now_ns_ - idle_until_ns_);
}

void Machine::count_idle() {
  idle_ns_ = idle_ns();
  idle_until_ns_ = now_ns_;
}

void Machine::dispatch(Core& core, Thread& thread) {
  count_idle();
  ++cores_.busy;
  core.thread = &thread;
  core.stolen = now_ns_ < core.stolen_until_ns;
  core.since_ns = std::max(now_ns_, core.stolen_until_ns) + options_.switch_ns;
  core.run_since_ns = now_ns_;
  thread.state_ = State::running;
  thread.core_ = cores_.index_of(core);
  core.slice_end_ns = now_ns_ + scheduler_->slice_of(thread);
  if (!core.stolen) emit_switch(core, perf::SwitchKind::in);
  plan(core);
}

void Machine::leave(Core& core, perf::SwitchKind kind) {
  if (!std::exchange(core.stolen, false)) emit_switch(core, kind);
  if (kind == perf::SwitchKind::out_blocked) scheduler_->blocking(*core.thread, now_ns_);
  core.thread->state_ = kind == perf::SwitchKind::out_blocked ? State::blocked : State::runnable;
  core.thread = nullptr;
  ++core.version;
  count_idle();
  --cores_.busy;
}

void Machine::preempt(Core& core) {
  advance(core);
  Thread& thread = *core.thread;
  leave(core, perf::SwitchKind::out_preempted);
  scheduler_->preempted(thread, now_ns_);
}

void Machine::advance(Core& core) {
  const Nanoseconds used_ns = now_ns_ - core.since_ns;
  if (core.thread == nullptr || used_ns <= 0) return;
  Thread& thread = *core.thread;
  thread.cpu_ns_ += used_ns;
  if (thread.limited_) quota_.used_ns += used_ns;
  thread.share_.vruntime_ns += thread.share_.virtual_ns(used_ns);
  if (thread.shot_.stage != Shot::Stage::spinning) thread.remaining_ns_ -= used_ns;
  core.since_ns = now_ns_;
}

// The core's thread spends this CPU time on something that is not part of its program.
void Machine::occupy(Core& core, Nanoseconds length_ns) {
  core.since_ns += length_ns;
  if (core.thread->limited_) quota_.used_ns += length_ns;
  core.thread->share_.vruntime_ns += core.thread->share_.virtual_ns(length_ns);
}

void Machine::plan(Core& core) {
  const Thread& thread = *core.thread;
  const Shot& shot = thread.shot_;
  Nanoseconds after_ns = std::max<Nanoseconds>(thread.remaining_ns_, 0);
  if (shot.stage == Shot::Stage::spinning) after_ns = pause_end(shot) - core.since_ns;
  if (sampling_ && !thread.foreign_)
    after_ns = std::min(after_ns, thread.next_sample_cpu_ns_ - thread.cpu_ns_);
  if (shot.stage == Shot::Stage::armed) {
    after_ns = std::min(after_ns, shot.fire_cpu_ns - thread.cpu_ns_);
  } else if (shot.stage == Shot::Stage::sleeping) {
    after_ns = 0;
  }
  if (thread.limited_) after_ns = std::min(after_ns, now_ns_ - core.since_ns + quota_left_each());
  Nanoseconds time_ns = core.since_ns + std::max<Nanoseconds>(after_ns, 0);
  time_ns = std::max(now_ns_, std::min(time_ns, core.slice_end_ns));
  if (core.stolen) time_ns = core.stolen_until_ns;
  stops_.push({time_ns, ++order_, Kind::core, cores_.index_of(core), ++core.version});
}

void Machine::stop_at(Core& core) {
  if (core.stolen && now_ns_ >= core.stolen_until_ns) {
    core.stolen = false;
    emit_switch(core, perf::SwitchKind::in);
  }
  advance(core);
  Thread& thread = *core.thread;
  if (now_ns_ >= core.since_ns) {
    const bool spinning = thread.shot_.stage == Shot::Stage::spinning;
    if (thread.shot_.stage == Shot::Stage::sleeping ||
        (spinning && now_ns_ >= pause_end(thread.shot_))) {
      go_on_in_stub(core);
    } else if (sampling_ && !thread.foreign_ && thread.cpu_ns_ >= thread.next_sample_cpu_ns_) {
      take_sample(core);
    } else if (thread.shot_.stage == Shot::Stage::armed &&
               thread.cpu_ns_ >= thread.shot_.fire_cpu_ns) {
      enter_stub(core);
    } else if (!spinning && thread.remaining_ns_ <= 0) {
      run(core);
    }
  }
  if (core.thread == nullptr) return;
  if (now_ns_ >= core.slice_end_ns) {
    if (scheduler_->makes_room(core, now_ns_)) return preempt(core);
    core.slice_end_ns = now_ns_ + scheduler_->slice_of(thread);
  }
  plan(core);
}

void Machine::run(Core& core) {
  Thread& thread = *core.thread;
  current_ = &thread;
  thread.code_.resume();
  current_ = nullptr;
  if (code_[static_cast<std::size_t>(thread.id_.tid - kFirstTid)].done()) {
    scheduler_->ending(thread, now_ns_);
    core.thread = nullptr;
    ++core.version;
    --cores_.busy;
    end(thread);
  }
}

}  // namespace causalctl::sim
