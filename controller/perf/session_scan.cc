// The part of a session that finds processes and threads in /proc: those of the start, and those
// that no record has told of.
#include <algorithm>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/procfs.h"
#include "controller/perf/session.h"

namespace causalctl::perf {
namespace {

constexpr Nanoseconds kScanInterval = 100 * kMillisecond;
constexpr Nanoseconds kScanAgain = 5 * kMillisecond;  // when something unexplained was seen
constexpr int kMostScansAtStart = 20;
constexpr Nanoseconds kScanRest = 20;  // times what the last scan has taken
// Who records all the time at next to no cost can wait for what no record has told.
constexpr Nanoseconds kRareScans = 5 * kSecond, kRareScanRest = 1000;

bool is_alive(Pid pid, Tid tid) {
  const auto status = procfs::thread_status(pid, tid);
  return status && status->state != 'Z' && status->state != 'X';
}

}  // namespace

// Threads may come during a scan. Those that a followed and started thread creates are known by
// their FORK records, so a scan that finds nothing new after the start has found all.
void Session::scan_until_stable() {
  for (int i = 0; i < kMostScansAtStart; ++i) {
    bool stable = true;
    const auto listed = list_threads();
    expected_threads_ = listed.size();
    for (const auto& [tid, process] : listed) {
      if (threads_.contains(tid) || refused_.contains(tid)) continue;
      stable = false;
      // Otherwise it is ending, or forbidden.
      if (!may_watch(process) || !open_at_start(process, tid)) refused_.insert(tid);
    }
    // New ones of a set are told of, and found later.
    if (stable || (plan_.running && may_join())) return;
  }
}

std::map<Tid, Pid> Session::list_threads() {
  std::map<Tid, Pid> listed;
  const auto add = [&listed](Pid process) {
    for (const Tid tid : procfs::threads(process)) listed.emplace(tid, process);
  };
  for (const auto& [process, known] : processes_) add(process);
  for (const Pid process : set_->present()) {
    if (!processes_.contains(process)) add(process);
  }
  return listed;
}

void Session::find_ended(const std::map<Tid, Pid>& listed, Nanoseconds now_ns) {
  std::vector<Tid> gone;
  for (auto& [tid, events] : threads_) {
    // A listing may leave out the threads behind one that ends just then (next_tid() of
    // fs/proc/base.c). A thread that executes another program loses its number before its COMM
    // record tells, and keeps its events; those of a thread that ends are over before its number is
    // free (do_exit() of kernel/exit.c). The first thread is listed until the process has ended.
    const bool may_be_over = !listed.contains(tid) || tid == events.process();
    const bool not_there = may_be_over && !is_alive(events.process(), tid);
    events.see(!not_there, now_ns);
    if ((not_there || lost_since_scan_) && events.ended()) gone.push_back(tid);
  }
  for (const Tid tid : gone) finish(tid, now_ns);
}

void Session::find_unknown(const std::map<Tid, Pid>& listed, Nanoseconds now_ns) {
  std::set<Tid> unknown;
  for (const auto& [tid, process] : listed) {
    if (threads_.contains(tid) || refused_.contains(tid)) continue;
    // Another thread may be about to have the number, by exec.
    const auto known = processes_.find(process);
    const Nanoseconds ended_ns = known == processes_.end() ? 0 : known->second.first_ended_ns;
    if (tid == process && now_ns - ended_ns < ThreadEvents::kLongestExec) continue;
    if (!suspects_.contains(tid)) {
      unknown.insert(tid);  // most likely its FORK record is on the way, or it is ending
    } else if (!is_alive(process, tid) || !may_watch(process) ||
               !open_or_refuse(process, tid, {}, now_ns, false)) {
      refused_.insert(tid);
    }
  }
  suspects_ = std::move(unknown);
}

void Session::forget_ended_processes(const std::map<Tid, Pid>& listed) {
  std::set<Pid> alive;
  for (const auto& [tid, process] : listed) {
    const auto known = processes_.find(process);
    if (known == processes_.end() || !known->second.threads.empty()) continue;
    if (is_alive(process, tid)) alive.insert(process);
  }
  std::erase_if(processes_, [&](const auto& each) {
    const bool is_over = each.second.threads.empty() && !alive.contains(each.first);
    if (is_over && bits_) bits_->leave(each.first);
    return is_over;
  });
}

// Finds what the records did not tell.
void Session::rescan(Nanoseconds now_ns) {
  const Nanoseconds begin_ns = monotonic_now();
  const auto listed = list_threads();
  find_ended(listed, now_ns);
  std::erase_if(refused_, [&](Tid tid) { return !listed.contains(tid); });
  find_unknown(listed, now_ns);
  forget_ended_processes(listed);
  alive_ = !processes_.empty() || set_->is_open();
  // Of a set, scans take a small share of a core.
  if (may_join()) {
    const Nanoseconds rest = scans_rarely_ ? kRareScanRest : kScanRest;
    scan_rests_until_ns_ = now_ns + rest * (monotonic_now() - begin_ns);
  }
  peers_.scan(now_ns, last_serial_, merger_);
  for (std::string& reason : peers_.take_reasons()) limits_.add(std::move(reason));
  lost_since_scan_ = false;
  next_scan_ns_ = now_ns + (scans_rarely_       ? kRareScans
                            : suspects_.empty() ? kScanInterval
                                                : kScanAgain);
  if (cores_ && cores_->cores_changed()) reopen_cores();
  if (tasks_ && tasks_->cores_changed()) reopen_tasks();
  if (sampled_hits_) sampled_hits_->follow_cores();
}

bool Session::may_watch(Pid process) {
  return processes_.contains(process) || set_->has_room(process, processes_.size());
}

void Session::begin_process(Pid process) {
  const auto [known, is_new] = processes_.try_emplace(process);
  if (!is_new) return;
  known->second.since_ns = monotonic_now();
  born_.push_back(process);
  if (bits_ && plan_.running) bits_->sample(process);
}

// It lives, but what it does from now on is not wanted.
void Session::leave_process(Pid process, Nanoseconds time_ns) {
  const auto known = processes_.find(process);
  if (known == processes_.end()) return;
  for (const Tid tid : std::exchange(known->second.threads, {})) {
    left_threads_[threads_.at(tid).thread()] = time_ns;
    finish(tid, time_ns);
  }
  processes_.erase(process);
  if (bits_) bits_->leave(process);
}

// That they have left is known once some of what they did later was given.
void Session::drop_of_left(EventBatch& batch, Nanoseconds older_than_ns) {
  batch.drop_if([this](const Event& event) {
    const auto left = left_threads_.find(thread_of(event));
    return left != left_threads_.end() && time_of(event) > left->second;
  });
  std::erase_if(left_threads_, [&](const auto& each) { return each.second < older_than_ns; });
}

}  // namespace causalctl::perf
