#include "controller/causal/ledger.h"

#include <algorithm>

namespace causalctl::causal {
namespace {

// A thread put on a core sooner than this after it became runnable did not wait for that core: the
// time is the scheduler's own. Shorter waits would tie threads together that merely follow each
// other on a core.
constexpr Nanoseconds kCoreWaitFloor = 50 * kMicrosecond;

// A core left longer ago than this was idle in between, or another program had it. Who was waiting
// already when it was left waited for the thread that left it, whoever came between.
constexpr Nanoseconds kHandOver = 20 * kMicrosecond;

// A thread that joins another runs again this soon after the other's end, as far as events tell.
constexpr Nanoseconds kJoined = 500 * kMicrosecond;

}  // namespace

void Ledger::start_thread(Tid thread, Tid parent, Nanoseconds now_ns) {
  Thread fresh;
  const auto found = threads_.find(parent);
  fresh.local_ns = found == threads_.end() ? global() : found->second.local_ns;
  fresh.since_ns = now_ns;
  if (parent != 0) fresh.state = ThreadState::waiting_for_core;
  threads_[thread] = fresh;
}

void Ledger::end_thread(Tid tid, Nanoseconds now_ns) {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return;
  const Thread& thread = found->second;
  last_end_ = {now_ns, thread.local_ns};
  if (thread.cpu) cores_[*thread.cpu] = {tid, now_ns, thread.local_ns};  // no switch record comes
  threads_.erase(found);
}

void Ledger::reset() {
  for (auto& [tid, thread] : threads_) thread.local_ns = 0;
  for (auto& [cpu, core] : cores_) core.local_ns = 0;
  last_end_.reset();
  lifted_ns_ = 0;
}

void Ledger::earn(Tid thread, Nanoseconds amount_ns) {
  if (const auto found = threads_.find(thread); found != threads_.end()) {
    found->second.local_ns += amount_ns;
  }
}

void Ledger::pay(Tid thread, Nanoseconds amount_ns) { earn(thread, amount_ns); }

void Ledger::ran(Tid thread) {
  if (const auto found = threads_.find(thread); found != threads_.end()) {
    found->second.state = ThreadState::running;
  }
}

void Ledger::arrive(Thread& thread, Nanoseconds waited_ns, Nanoseconds other_local_ns) {
  thread.local_ns = std::min(thread.local_ns + std::max<Nanoseconds>(waited_ns, 0), other_local_ns);
}

Nanoseconds Ledger::switched_in(Tid tid, std::uint32_t cpu, Nanoseconds now_ns) {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return 0;
  Thread& thread = found->second;
  if (thread.blind_wait && blind_ == BlindCredit::full) {
    arrive(thread, now_ns - thread.since_ns, global());
  } else if (thread.blind_wait && last_end_ && last_end_->at_ns >= thread.since_ns &&
             now_ns - last_end_->at_ns < kJoined) {
    arrive(thread, last_end_->at_ns - thread.since_ns, last_end_->local_ns);
  }
  const Core& core = cores_[cpu];
  const bool waited = thread.state == ThreadState::waiting_for_core;
  const bool own_core = core.left_by == tid && core.left_at_ns == thread.since_ns;
  if (waited) put_on_core(thread, tid, core, now_ns);
  thread.state = ThreadState::running;
  thread.cpu = cpu;
  thread.blind_wait = thread.needless = false;
  return waited && own_core ? now_ns - thread.since_ns : 0;
}

void Ledger::put_on_core(Thread& thread, Tid tid, const Core& core, Nanoseconds now_ns) {
  const Nanoseconds waited_ns = std::max<Nanoseconds>(now_ns - thread.since_ns, 0);
  core_wait_ns_ += waited_ns;
  const bool for_other =
      waited_ns > kCoreWaitFloor && core.left_by != 0 && core.left_by != tid &&
      (core.left_at_ns >= thread.since_ns || now_ns - core.left_at_ns < kHandOver);
  if (for_other) {
    arrive(thread, waited_ns, core.local_ns);
  } else if (thread.needless) {
    thread.local_ns += waited_ns;  // all of it on the way
  }
}

void Ledger::switched_out(Tid tid, std::uint32_t cpu, Nanoseconds now_ns, bool preempted,
                          bool pause_asked) {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return;
  Thread& thread = found->second;
  thread.state = preempted ? ThreadState::waiting_for_core : ThreadState::blocked;
  thread.since_ns = now_ns;
  thread.blind_wait = !preempted && !pause_asked;
  cores_[cpu] = {tid, now_ns, thread.local_ns};
}

void Ledger::woken(Tid tid, Tid waker, Nanoseconds now_ns) {
  const auto found = threads_.find(tid);
  const auto other = threads_.find(waker);
  if (found == threads_.end() || other == threads_.end() || tid == waker) return;
  Thread& thread = found->second;
  if (thread.state != ThreadState::blocked) return;
  const Nanoseconds waited_ns = now_ns - thread.since_ns;
  thread.needless = thread.local_ns + waited_ns < other->second.local_ns;
  arrive(thread, waited_ns, other->second.local_ns);
  thread.blind_wait = false;
  thread.state = ThreadState::waiting_for_core;
  thread.since_ns = now_ns;
}

void Ledger::spun(Tid tid, Nanoseconds amount_ns) {
  if (const auto found = threads_.find(tid); found != threads_.end()) {
    arrive(found->second, amount_ns, global());
  }
}

Nanoseconds Ledger::global() const {
  if (threads_.empty()) return lifted_ns_;
  const auto largest = std::max_element(
      threads_.begin(), threads_.end(),
      [](const auto& a, const auto& b) { return a.second.local_ns < b.second.local_ns; });
  return lifted_ns_ > 0 ? std::max(lifted_ns_, largest->second.local_ns) : largest->second.local_ns;
}

Nanoseconds Ledger::local(Tid thread) const {
  const auto found = threads_.find(thread);
  return found == threads_.end() ? 0 : found->second.local_ns;
}

ThreadState Ledger::state(Tid thread) const {
  const auto found = threads_.find(thread);
  return found == threads_.end() ? ThreadState::unknown : found->second.state;
}

std::vector<Ledger::Debt> Ledger::debts() const {
  const Nanoseconds target_ns = global();
  std::vector<Debt> debts;
  debts.reserve(threads_.size());
  for (const auto& [tid, thread] : threads_) {
    debts.push_back({tid, target_ns - thread.local_ns, thread.state});
  }
  return debts;
}

}  // namespace causalctl::causal
