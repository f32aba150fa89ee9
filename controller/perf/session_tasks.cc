// The part of a session that learns of births, ends, names, programs and mappings.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"
#include "controller/perf/session.h"

namespace causalctl::perf {

void Session::open_tasks() {
  try {
    tasks_.emplace(lockable_pages_);
    if (!tasks_->work()) throw Error("events of the cores do not tell of the birth of a thread");
    plan_.by_tasks = true;
  } catch (const Error& error) {
    log::verbose("each thread has an event that tells of births and mappings: {}", error.what());
    tasks_.reset();
  }
}

// Other cores are online. The old events are read after the new ones are open. What both tell may
// be told twice.
void Session::reopen_tasks() {
  try {
    TaskRecords fresh(lockable_pages_);
    if (plan_.running) fresh.start();
    read_tasks();
    tasks_ = std::move(fresh);
    lost_since_scan_ = true;
  } catch (const Error& error) {
    limits_.add(fmt::format("births of threads and mappings on some cores are not told: {}",
                            error.hint().empty() ? error.what() : error.hint()));
  }
}

void Session::read_tasks() {
  losses_.records_lost += tasks_->read([this](const Record& record) {
    if (const auto* comm = std::get_if<CommRecord>(&record)) {
      handle_name(*comm);
    } else if (const auto* lost = std::get_if<LostRecord>(&record)) {
      losses_.records_lost += lost->count;
      lost_since_scan_ = true;
    } else {
      if (const auto* exit = std::get_if<ExitRecord>(&record)) {
        peers_.exited(exit->tid, exit->common.time_ns, merger_);
      }
      handle_task(record);
    }
  });
}

void Session::handle_name(const CommRecord& comm) {
  const auto& [pid, tid, time_ns, cpu, id] = comm.common;
  if (pid != target_) {
    if (comm.exec) peers_.executed(pid);
  } else if (comm.exec) {
    executed_.push_back({tid, time_ns, std::string(comm.name), false});
  } else {
    names_.push_back({{tid, 0}, time_ns, std::string(comm.name)});
  }
}

// After all cores were read. Who called exec is not told: it is the one thread that lives, because
// all others have ended by then, the first one too. The end of a thread may be read one drain
// later, from another core.
void Session::handle_execs() {
  std::vector<Executed> unclear;
  for (Executed& exec : std::exchange(executed_, {})) {
    if (ThreadEvents* caller = caller_of_exec(exec)) {
      handle_exec(*caller, exec.tid, exec.time_ns);
      merger_.push(NameEvent{caller->thread(), exec.time_ns, std::move(exec.name)});
    } else if (!std::exchange(exec.is_late, true)) {
      unclear.push_back(std::move(exec));
    } else {
      merger_.push(ExecEvent{{exec.tid, 0}, exec.time_ns});  // by one that is not followed
    }
  }
  executed_ = std::move(unclear);
}

ThreadEvents* Session::caller_of_exec(const Executed& exec) {
  ThreadEvents* caller = nullptr;
  for (auto& [tid, events] : threads_) {
    const bool had_ended = events.exit_seen() && events.exited_ns() < exec.time_ns;
    if (had_ended || events.since_ns() > exec.time_ns) continue;
    if (caller != nullptr && !exec.is_late) return nullptr;
    // The end of some may have been lost.
    if (caller == nullptr || tid == exec.tid) caller = &events;
  }
  return caller;
}

// What events tell of threads and mappings, a thread's own ones or those of the cores.
void Session::handle_task(const Record& record) {
  if (const auto* fork = std::get_if<ForkRecord>(&record)) {
    if (fork->pid == target_ && fork->parent_pid == target_) forks_.push_back({*fork});
  } else if (const auto* exit = std::get_if<ExitRecord>(&record)) {
    if (exit->pid == target_ && !handle_end(*exit)) early_ends_.push_back(*exit);
  } else if (const auto* map = std::get_if<MmapRecord>(&record)) {
    if (map->common.pid != target_) return;
    merger_.push(MapEvent{map->start, map->length, map->file_offset, map->device, map->inode,
                          std::string(map->path), map->common.time_ns, map->generation});
  }
}

// Returns whether the thread is known.
bool Session::handle_end(const ExitRecord& exit) {
  const auto entry = threads_.find(exit.tid);
  if (entry == threads_.end()) return false;
  ThreadEvents& events = entry->second;
  if (exit.common.time_ns < events.since_ns()) return true;  // of an earlier one with this number
  // Of a later one with this number, which it may have by exec.
  if (events.exit_seen()) return exit.common.time_ns <= events.exited_ns();
  events.see_exit(exit.common.time_ns);
  if (exit.tid == target_) first_ended_ns_ = exit.common.time_ns;
  merger_.push(ThreadExitEvent{events.thread(), exit.common.time_ns});
  exits_.push_back(events.thread());
  return true;
}

// The caller of exec takes the first thread's number; all other threads are dead by now. Its
// records from here on are those of the new identity; its place in threads_ follows after all rings
// are read.
void Session::handle_exec(ThreadEvents& events, Tid tid, Nanoseconds time_ns) {
  const ThreadId before = events.thread();
  if (before.tid != tid) {
    events.rename({tid, ++last_serial_});
    events.set_since(time_ns);
    merger_.push(ThreadExitEvent{before, time_ns});
    merger_.push(ThreadStartEvent{events.thread(), {}, time_ns, false});
    renamed_.push_back({before.tid, tid, time_ns});
  }
  merger_.push(ExecEvent{events.thread(), time_ns});
}

void Session::move_renamed() {
  for (const auto& [from, to, time_ns] : std::exchange(renamed_, {})) {
    finish(to, time_ns);
    refused_.erase(to);
    auto node = threads_.extract(from);
    if (node.empty()) continue;
    node.key() = to;
    threads_.insert(std::move(node));
  }
}

// A thread may end, or create another one, before its birth is read, by one drain if different
// cores tell of the two.
void Session::handle_forks(Nanoseconds older_than_ns) {
  std::stable_sort(forks_.begin(), forks_.end(), [](const auto& left, const auto& right) {
    return left.common.time_ns < right.common.time_ns;
  });
  std::vector<Fork> unclear;
  for (Fork& fork : std::exchange(forks_, {})) {
    const bool has_parent = threads_.contains(fork.parent_tid);
    if (plan_.by_tasks && !has_parent && !std::exchange(fork.is_late, true)) {
      unclear.push_back(fork);
    } else {
      handle_fork(fork);
    }
  }
  forks_ = std::move(unclear);
  std::erase_if(early_ends_, [&](const ExitRecord& exit) {
    return handle_end(exit) || exit.common.time_ns < older_than_ns;
  });
  std::erase_if(
      names_, [&](NameEvent& name) { return give_if_known(name) || name.time_ns < older_than_ns; });
}

bool Session::give_if_known(NameEvent& name) {
  const auto thread = threads_.find(name.thread.tid);
  if (thread == threads_.end() || name.time_ns < thread->second.since_ns()) return false;
  name.thread = thread->second.thread();
  merger_.push(std::move(name));
  return true;
}

void Session::handle_fork(const ForkRecord& fork) {
  const auto parent = threads_.find(fork.parent_tid);
  const ThreadId parent_id = parent == threads_.end() ? ThreadId{} : parent->second.thread();
  if (const auto known = threads_.find(fork.tid); known != threads_.end()) {
    // A scan found it before its FORK record was read. Otherwise the number is used again, and the
    // EXIT record was lost.
    if (known->second.opened_ns() >= fork.common.time_ns) return;
    finish(fork.tid, fork.common.time_ns);
  }
  refused_.erase(fork.tid);
  if (!open_or_refuse(fork.tid, parent_id, fork.common.time_ns, true)) {
    if (procfs::is_kernel_worker(target_, fork.tid)) {
      refused_.insert(fork.tid);
    } else {
      ++losses_.threads_missed;
    }
    return;
  }
  if (plan_.by_scheduler && plan_.by_core) return;  // it is seen whole
  losses_.unseen_ns += std::max<Nanoseconds>(0, monotonic_now() - fork.common.time_ns);
}

}  // namespace causalctl::perf
