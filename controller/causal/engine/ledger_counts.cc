// What the ledger counts of its threads: which run and wait, which idle, which meet others.
#include <algorithm>

#include "controller/base/error.h"
#include "controller/causal/engine/ledger.h"

namespace causalctl::causal {
namespace {

// Background threads are the threads that run least, have together at most this share of the
// target's CPU time, and pass no progress point.
constexpr double kBackgroundShare = 0.05;

constexpr Nanoseconds kLately = 100 * kMillisecond;

}  // namespace

// A background thread that a timer wakes for a moment is rarely found running when it owes; if it
// is, its whole debt is due at once, and it may hold a lock. So it does not pay. The error is
// bounded by the share of all background threads.
void Ledger::find_background_threads() {
  std::vector<Thread*> by_cpu;
  Nanoseconds all_ns = 0;
  for (auto& [tid, thread] : threads_) {
    if (is_peer(thread)) continue;
    catch_up(thread);
    by_cpu.push_back(&thread);
    all_ns += thread.cpu_ns;
  }
  std::sort(by_cpu.begin(), by_cpu.end(),
            [](const Thread* a, const Thread* b) { return a->cpu_ns < b->cpu_ns; });
  Nanoseconds sum_ns = 0;
  for (Thread* thread : by_cpu) {
    sum_ns += thread->cpu_ns;
    if (thread->role != Role::visitor) {
      const bool hardly_runs =
          static_cast<double>(sum_ns) < kBackgroundShare * static_cast<double>(all_ns);
      thread->role = hardly_runs ? Role::background : Role::ordinary;
    }
    thread->cpu_ns /= 2;  // what is long ago counts less
  }
}

std::size_t Ledger::foreground_threads() const {
  return static_cast<std::size_t>(
      std::count_if(threads_.begin(), threads_.end(), [](const auto& each) {
        return each.second.role == Role::ordinary || each.second.role == Role::visitor;
      }));
}

// Brings the CPU time of a thread up to the present.
void Ledger::catch_up(Thread& thread) {
  if (thread.state != ThreadState::running) return;
  const Nanoseconds ran_ns = std::max<Nanoseconds>(latest_ns_ - thread.running_since_ns, 0);
  thread.cpu_ns += ran_ns;
  thread.ran_ns += ran_ns;
  thread.running_since_ns = latest_ns_;
}

CoupledTime Ledger::couple() {
  std::vector<Coupling::Member> members;
  members.reserve(threads_.size());
  for (auto& [tid, thread] : threads_) {
    catch_up(thread);
    members.push_back({tid, thread.ran_ns, is_visitor(thread)});
  }
  const auto coupled = coupling_.take(members);
  CoupledTime time;
  for (auto& [tid, thread] : threads_) {
    thread.coupled = coupled.contains(tid);
    if (thread.coupled) time.busiest_ns = std::max(time.busiest_ns, thread.ran_ns);
    if (thread.coupled && is_peer(thread)) time.peers_ns += thread.ran_ns;
    if (is_peer(thread)) time.all_peers_ns += thread.ran_ns;
    thread.ran_ns = 0;
  }
  return time;
}

bool Ledger::rested_lately(Tid thread, Nanoseconds now_ns) const {
  const auto found = threads_.find(thread);
  if (found == threads_.end() || !found->second.up_since_ns) return false;
  return now_ns - *found->second.up_since_ns < kLately;
}

bool Ledger::is_coupled(Tid thread) const {
  const auto found = threads_.find(thread);
  return found != threads_.end() && found->second.coupled;
}

// A peer counts while it runs on a core of the target, or waits and was last on such a core.
void Ledger::count_known(Thread& thread, ThreadState state, Nanoseconds now_ns) {
  const bool counts = !is_peer(thread) || (thread.cpu && core_of(*thread.cpu).of_target);
  const auto change = [&](ThreadState of) {
    return (counts && state == of) - (thread.among_known && thread.state == of);
  };
  not_strangers_.change(now_ns, change(ThreadState::running),
                        change(ThreadState::waiting_for_core));
  thread.among_known = counts;
}

void Ledger::count_visitors(Thread& thread, ThreadState state, Nanoseconds now_ns) {
  meetings_.visitors_cpu_ns +=
      running_visitors_ * std::max<Nanoseconds>(now_ns - visitors_at_ns_, 0);
  visitors_at_ns_ = std::max(visitors_at_ns_, now_ns);
  const bool runs = is_visitor(thread) && state == ThreadState::running;
  running_visitors_ += runs - thread.visitor_runs;
  INVARIANT(running_visitors_ >= 0);
  thread.visitor_runs = runs;
}

CoreTotals Ledger::meetings() const {
  CoreTotals now = meetings_;
  now.visitors_cpu_ns += running_visitors_ * std::max<Nanoseconds>(latest_ns_ - visitors_at_ns_, 0);
  return now;
}

void Ledger::count_runnable(Thread& thread, Nanoseconds now_ns) {
  const bool can_run =
      thread.state == ThreadState::running || thread.state == ThreadState::waiting_for_core;
  const bool counts =
      can_run && (!is_peer(thread) || (thread.cpu && core_of(*thread.cpu).of_target));
  if (counts == thread.runnable_at.has_value()) return;
  if (counts) {
    thread.runnable_at = runnable_.size();
    runnable_.push_back(&thread);
  } else {
    INVARIANT(runnable_.at(*thread.runnable_at) == &thread);
    runnable_.back()->runnable_at = thread.runnable_at;
    runnable_[*thread.runnable_at] = runnable_.back();
    runnable_.pop_back();
    thread.runnable_at.reset();
  }
  const bool were_busy = pool_.busy();
  pool_.runnable(now_ns, static_cast<int>(runnable_.size()));
  if (!were_busy && pool_.busy()) pool_.begin(lead_of_runnable());
}

double Ledger::lead_of_runnable() const {
  double sum_ns = 0;
  int threads = 0;
  for (const Thread* thread : runnable_) {
    if (exempt(*thread)) continue;
    sum_ns += static_cast<double>(thread->lead_ns);
    ++threads;
  }
  return threads > 0 ? sum_ns / threads : static_cast<double>(pool_.lead_ns());
}

Nanoseconds Ledger::mean_wait_ns() const {
  const auto visitors = std::count_if(threads_.begin(), threads_.end(), [](const auto& each) {
    return each.second.role == Role::visitor;
  });
  return visitors > 0 ? waited_ns_ / visitors : 0;
}

Nanoseconds Ledger::mean_debt_ns() const {
  const Nanoseconds all_ns = max_lead();
  Nanoseconds sum_ns = 0;
  Nanoseconds visitors = 0;
  for (const auto& [tid, thread] : threads_) {
    if (thread.role != Role::visitor) continue;
    sum_ns += all_ns - thread.lead_ns;
    ++visitors;
  }
  return visitors > 0 ? sum_ns / visitors : 0;
}

}  // namespace causalctl::causal
