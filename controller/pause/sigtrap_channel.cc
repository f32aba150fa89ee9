#include "controller/pause/sigtrap_channel.h"

#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"
#include "controller/pause/stub_run.h"
#include "controller/perf/attrs.h"
#include "controller/tracee/inject/stub.h"
#include "controller/tracee/process.h"

namespace causalctl::pause {
namespace {

using Obstacle = ShotFilter::Obstacle;

// A raise of a debt under way smaller than this waits for the next one.
constexpr Nanoseconds kWorthWriting = 20 * kMicrosecond;
// A shot that has not fired after this time is looked into, because its thread may block SIGTRAP;
// and again after each poll.
constexpr Nanoseconds kUnfiredCheck = 50 * kMillisecond;
constexpr Nanoseconds kUnfiredCheckAgain = 20 * kMillisecond;

constexpr int kSuppressedPolls = 3;  // for want of room on the stack; then the thread falls back
// Where nothing suppresses a shot, samples that must have found threads on their own stacks first.
constexpr int kCleanSamples = 30;

// A thread of a real-time class that spins would keep all others from its core.
bool may_spin(Tid tid) {
  const int policy = sched_getscheduler(tid) & ~SCHED_RESET_ON_FORK;  // negative: it has ended
  return policy == SCHED_OTHER || policy == SCHED_BATCH || policy == SCHED_IDLE;
}

}  // namespace

SigtrapChannel::SigtrapChannel(Pid target, tracee::Guardian& guardian, tracee::Injection injection,
                               const PauserOptions& options)
    : target_(target),
      injection_(injection),
      options_(options),
      fallback_(guardian, options.longest_ns),
      states_(injection.slot_count),
      seen_(injection.slot_count) {
  std::string reason;
  filter_ = ShotFilter::make(injection.code, reason);
  log::verbose(
      "pauses are held back {} when the target changes its SIGTRAP handler or enters "
      "seccomp{}",
      filter_ ? "in the kernel" : "by a look at /proc", filter_ ? "" : ": " + reason);
}

unsigned SigtrapChannel::take_slot() {
  if (free_slots_.empty()) return used_slots_++;
  const unsigned slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

std::optional<tracee::Slot> SigtrapChannel::read_slot(unsigned slot) const {
  return tracee::read_object<tracee::Slot>(target_, injection_.slots + slot * sizeof(tracee::Slot));
}

void SigtrapChannel::add_thread(Tid tid) {
  if (executed_ || threads_.contains(tid)) return;
  const bool no_slot = free_slots_.empty() && used_slots_ == injection_.slot_count;
  if (reasons_.all != Obstacle::none || no_slot) {
    if (reasons_.all == Obstacle::none) ++reasons_.without_slot;
    fallback_.add_thread(tid);
    return;
  }
  const unsigned slot = take_slot();
  const auto attr = perf::sigtrap_attr(injection_.slots + slot * sizeof(tracee::Slot),
                                       ShotFilter::shot_period(slot));
  auto shot = perf::EventFd::open(attr, tid, "pause event");
  if (!shot) {  // the thread is gone
    free_slots_.push_back(slot);
    return;
  }
  if (filter_) {
    filter_->set_stack(slot, std::nullopt);
    filter_->attach(*shot);
  }
  // A new program, begun by execve(), has no stub, and the signal would end it. An event from
  // before is taken away by the kernel (remove_on_exec); one from after is not, so /proc is read
  // after the open.
  const auto status = procfs::thread_status(target_, tid);
  if (const auto why = status ? obstacle_in(*status) : Obstacle::handler; why != Obstacle::none) {
    free_slots_.push_back(slot);
    if (why == Obstacle::seccomp) fallback_.add_thread(tid);
    return;
  }
  const auto now = read_slot(slot);
  if (!now) return;  // the target is gone, or has another program: the session will tell
  if (!is_plausible_total(now->paid_total_ns)) {
    ++reasons_.overwritten;
    fallback_.add_thread(tid);
    return;
  }
  // What the thread before left in the slot after the last collect() does not count for this one.
  states_[slot] = {now->paid_total_ns, now->left};
  Thread thread;
  thread.shot = std::move(*shot);
  thread.slot = slot;
  thread.owed_total_ns = states_[slot].paid_total_ns;
  threads_.emplace(tid, std::move(thread));
}

void SigtrapChannel::remove_thread(Tid tid) {
  fallback_.remove_thread(tid);
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return;
  if (found->second.armed) --armed_count_;
  free_slots_.push_back(found->second.slot);
  threads_.erase(found);
}

void SigtrapChannel::write_slot(const Thread& thread, bool with_arming) {
  tracee::Slot slot;
  slot.owed_total_ns = thread.owed_total_ns;
  slot.armed_at_ns = thread.armed_at_ns;
  slot.stale_after_ns =
      (options_.stale_after_ns & ~tracee::kSpins) | (thread.spins ? tracee::kSpins : 0);
  // Raising or lowering a debt touches one aligned word, so the stub never sees half of it.
  const std::size_t size =
      with_arming ? offsetof(tracee::Slot, paid_total_ns) : sizeof(slot.owed_total_ns);
  // A failure means that the target is gone: the session will report its end.
  (void)tracee::write_memory(target_, injection_.slots + thread.slot * sizeof(slot),
                             std::as_bytes(std::span(&slot, 1)).first(size));
}

void SigtrapChannel::sampled(Tid tid, Address stack_pointer) {
  if (filter_ || executed_ || reasons_.all != Obstacle::none || stack_pointer == 0) return;
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return;
  Thread& thread = found->second;
  find_stack(tid, thread);
  if (!thread.stack) return;
  if (!thread.stack->contains(stack_pointer)) return give_up(Obstacle::stack);
  thread.seen_on_own_stack = true;
  ++clean_samples_;
}

bool SigtrapChannel::in_stub(Address instruction) const {
  return !executed_ && instruction >= injection_.code &&
         instruction < injection_.code + tracee::kPage;
}

void SigtrapChannel::find_stack(Tid tid, Thread& thread) {
  if (std::exchange(thread.stack_known, true)) return;
  thread.stack = own_stack(target_, tid, control_block(tid));
  if (filter_) filter_->set_stack(thread.slot, thread.stack);
}

// A suppressed shot waits until the thread is on its own stack, which is soon enough for a thread
// that leaves it now and then. Not every C library tells where the thread's control block is; the
// filter does.
void SigtrapChannel::check_stack(Tid tid, Thread& thread, const ShotFilter::Place& place) {
  if (!thread.stack) {
    thread.stack = own_stack(target_, tid, place.control_block);
    filter_->set_stack(thread.slot, thread.stack);
    if (thread.stack && thread.stack->contains(place.stack_pointer)) return;
  }
  if (++thread.suppressed_polls < kSuppressedPolls) return;
  --armed_count_;
  thread.owed_total_ns = 0;
  write_slot(thread, false);
  ++reasons_.on_other_stacks;
  fall_back(tid);  // it keeps its slot, because it may have been shot just now
}

void SigtrapChannel::set_debt(Tid tid, Nanoseconds debt_ns, Nanoseconds now_ns) {
  if (executed_) return;
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return fallback_.set_debt(tid, debt_ns, now_ns);
  Thread& thread = found->second;
  const Nanoseconds bounded_ns = std::clamp<Nanoseconds>(debt_ns, 0, options_.longest_ns);
  const Nanoseconds owed_total_ns = states_[thread.slot].paid_total_ns + bounded_ns;
  if (thread.armed) {
    if (std::abs(owed_total_ns - thread.owed_total_ns) < kWorthWriting && bounded_ns > 0) return;
    thread.owed_total_ns = owed_total_ns;
    write_slot(thread, false);
    return;
  }
  if (bounded_ns == 0) return;
  if (!filter_ || !thread.reached) {
    const auto status = procfs::thread_status(target_, tid);
    if (!status) return;  // it has ended
    // A thread has another mask while it is in a call that waits for signals, and no handlers any
    // more when it is ending.
    if (status->state != 'R') return;
    if (const auto why = obstacle_in(*status); why != Obstacle::none) return give_up(why);
    // Many threads block it for a moment. The debt stays until the next tick.
    if (procfs::has_signal(status->signals_blocked, SIGTRAP)) {
      thread.unblocked_polls = 0;
      const auto cpu_ns = procfs::cpu_time(target_, tid);
      const ShotPoll poll{
          .now_ns = now_ns, .runs = true, .blocks = true, .cpu_ns = cpu_ns.value_or(0)};
      if (!thread.unreached.poll(poll)) return;
      free_slots_.push_back(thread.slot);
      ++reasons_.unreached;
      return fall_back(tid);
    }
    // The thread may be on its way into such a call, or out of it.
    if (!filter_ && !thread.reached && ++thread.unblocked_polls < 2) return;
  }
  find_stack(tid, thread);
  if (!filter_) {
    if (!thread.stack) {
      free_slots_.push_back(thread.slot);
      ++reasons_.on_other_stacks;
      return fall_back(tid);
    }
    if (!thread.seen_on_own_stack || clean_samples_ < kCleanSamples) return;
  }
  INVARIANT(!thread.armed);
  thread.owed_total_ns = owed_total_ns;
  thread.armed_at_ns = now_ns;
  thread.spins = awake_ && may_spin(tid);
  thread.check_at_ns = now_ns + kUnfiredCheck;
  write_slot(thread, true);
  last_ = {tid, now_ns};
  thread.shot.refresh(1);
  thread.armed = true;
  ++armed_count_;
}

void SigtrapChannel::fall_back(Tid tid) {
  threads_.erase(tid);
  fallback_.add_thread(tid);
}

// Threads that stand in the stub leave it first. A shot that has fired but has not come to the stub
// yet finds nothing owed.
void SigtrapChannel::give_up(ShotFilter::Obstacle why) {
  // An exec takes first the memory and then the handler away. Its record comes later than this.
  if (why == Obstacle::handler && !tracee::find_stub(target_, injection_.code)) {
    executed_ = true;
    threads_.clear();
    armed_count_ = 0;
    return;
  }
  reasons_.all = why;
  for (auto& [tid, thread] : threads_) thread.shot = {};
  read_slots();
  for (auto next = threads_.begin(); next != threads_.end();) {
    auto& [tid, thread] = *next;
    const tracee::Slot& slot = seen_[thread.slot];
    if (thread.armed && (slot.entered != slot.left || slot.left != states_[thread.slot].left)) {
      ++next;
      continue;
    }
    if (thread.armed) {
      --armed_count_;
      thread.owed_total_ns = 0;
      write_slot(thread, false);
    }
    fallback_.add_thread(tid);
    next = threads_.erase(next);
  }
}

// Returns false where the slot holds what the stub does not write.
bool SigtrapChannel::finish(Tid tid, Thread& thread, const tracee::Slot& slot, Nanoseconds now_ns,
                            std::vector<Paid>& paid) {
  SlotState& state = states_[thread.slot];
  INVARIANT(thread.armed && thread.owed_total_ns >= state.paid_total_ns);
  thread.armed = false;
  thread.unreached = {};
  --armed_count_;
  auto run = last_run(slot, state.paid_total_ns, now_ns);
  // A slot is not read in one moment: `left` may be newer than the fields before it. Now that it
  // has moved, the others stay.
  const auto again = run ? std::nullopt : read_slot(thread.slot);
  if (again) run = last_run(*again, state.paid_total_ns, now_ns);
  if (!run) {
    ++reasons_.overwritten;
    return false;
  }
  if (run->end_ns > run->start_ns) {
    totals_.asked_ns += thread.owed_total_ns - state.paid_total_ns;
    totals_.paid_ns += run->end_ns - run->start_ns;
    ++totals_.pauses;
    thread.suppressed_polls = 0;
  } else {
    ++totals_.stale;
  }
  paid.push_back(
      {tid, run->start_ns, run->end_ns, options_.pause_cost_ns.value_or(0), thread.spins});
  if (last_->at_ns < run->end_ns) last_ = {tid, run->end_ns};
  state = {run->paid_total_ns, run->left};
  thread.reached = true;
  return true;
}

// A thread may have begun to block SIGTRAP for good. Then its shot is suppressed, or, where there
// is no filter, its signal stays pending, and the guardian takes it out at the end. Or the target
// has installed a handler of its own over ours, which got the signal.
void SigtrapChannel::check_unfired(Tid tid, Thread& thread, Nanoseconds now_ns) {
  thread.check_at_ns = now_ns + kUnfiredCheckAgain;
  const std::uint64_t count = thread.shot.read_count();
  const auto cpu_ns = procfs::cpu_time(target_, tid);
  const auto status = procfs::thread_status(target_, tid);
  const auto slot = read_slot(thread.slot);  // read last: the thread may be in the stub by now
  if (!status || !cpu_ns || !slot || slot->entered != states_[thread.slot].left) return;
  const bool never =
      thread.unreached.poll({.now_ns = now_ns,
                             .runs = status->state == 'R',
                             .blocks = procfs::has_signal(status->signals_blocked, SIGTRAP),
                             .pending = procfs::has_signal(status->signals_pending, SIGTRAP),
                             .event_count = count,
                             .cpu_ns = *cpu_ns});
  if (!never) return;
  --armed_count_;
  ++reasons_.unreached;
  fall_back(tid);  // it keeps its slot, because the pending shot still writes there
}

// Where the target is gone, what was seen last stays.
void SigtrapChannel::read_slots() {
  (void)tracee::read_memory(target_, injection_.slots,
                            std::as_writable_bytes(std::span(seen_).first(used_slots_)));
}

std::vector<Paid> SigtrapChannel::collect(Nanoseconds now_ns) {
  std::vector<Paid> paid = fallback_.collect(now_ns);
  standing_ = 0;
  if (armed_count_ == 0) return paid;
  if (reasons_.all == Obstacle::none) {
    const auto first = filter_ ? std::nullopt : procfs::status(target_);
    const auto why = filter_ ? filter_->obstacle() : first ? obstacle_in(*first) : Obstacle::none;
    if (why != Obstacle::none) give_up(why);
  }
  read_slots();
  const auto is_armed = [](const auto& each) { return each.second.armed; };
  INVARIANT(
      std::cmp_equal(armed_count_, std::count_if(threads_.begin(), threads_.end(), is_armed)));
  std::vector<Tid> unfired;
  std::vector<Tid> finished;
  std::vector<std::pair<Tid, ShotFilter::Place>> elsewhere;
  const auto suppressed_for_stack = [&](const Thread& thread) {
    return filter_ ? filter_->take_suppressed_for_stack(thread.slot) : std::nullopt;
  };
  for (auto& [tid, thread] : threads_) {
    if (!thread.armed) continue;
    const tracee::Slot& slot = seen_[thread.slot];
    // `left` is the stub's last write: once it has moved, all else in the slot is final.
    if (slot.left != states_[thread.slot].left) {
      const bool believed = finish(tid, thread, slot, now_ns, paid);
      if (!believed || reasons_.all != Obstacle::none) finished.push_back(tid);
    } else if (slot.entered != slot.left) {
      ++standing_;
    } else if (const auto place = suppressed_for_stack(thread)) {
      elsewhere.emplace_back(tid, *place);
    } else if (now_ns > thread.check_at_ns) {
      unfired.push_back(tid);
    }
  }
  for (const Tid tid : finished) fall_back(tid);
  for (const auto& [tid, place] : elsewhere) check_stack(tid, threads_.at(tid), place);
  for (const Tid tid : unfired) check_unfired(tid, threads_.at(tid), now_ns);
  std::sort(paid.begin(), paid.end(),
            [](const Paid& a, const Paid& b) { return a.end_ns < b.end_ns; });
  return paid;
}

bool SigtrapChannel::pausing(Tid tid) const {
  const auto found = threads_.find(tid);
  return found == threads_.end() ? fallback_.pausing(tid) : found->second.armed;
}

bool SigtrapChannel::standing(Tid tid) const {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return fallback_.standing(tid);
  if (!found->second.armed) return false;
  const tracee::Slot& slot = seen_[found->second.slot];
  return slot.entered != slot.left;
}

std::optional<LastPause> SigtrapChannel::last() const {
  const auto other = fallback_.last();
  return !last_ || (other && other->at_ns > last_->at_ns) ? other : last_;
}

PauseTotals SigtrapChannel::totals() const {
  PauseTotals sum = fallback_.totals();
  sum.asked_ns += totals_.asked_ns;
  sum.paid_ns += totals_.paid_ns;
  sum.pauses += totals_.pauses;
  sum.stale += totals_.stale;
  return sum;
}

}  // namespace causalctl::pause
