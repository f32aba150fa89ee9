// The part of a session that learns of births, ends, names, programs and mappings.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "controller/base/base_name.h"
#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"
#include "controller/perf/session.h"

namespace causalctl::perf {
namespace {

// As many switches cost a thread with a clock of its own what opening that clock does.
constexpr std::uint64_t kSwitchesOfBirth = 20;

}  // namespace

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
  const bool is_member = processes_.contains(pid);
  if (!is_member && comm.exec) peers_.executed(pid);
  if (!is_member && !may_join()) return;
  if (comm.exec) {
    executed_.push_back({pid, time_ns, std::string(comm.name), false});
  } else {
    names_.keep(tid, time_ns, {{tid, 0}, time_ns, std::string(comm.name)});
    born_.push_back(tid);  // or known already: it is tried after the births of this reading
  }
}

// What events tell of threads and mappings, a thread's own ones or those of the cores. A process
// that is not known may be a member by a record of another core.
void Session::handle_task(const Record& record) {
  if (const auto* fork = std::get_if<ForkRecord>(&record)) {
    const bool is_thread = fork->pid == fork->parent_pid;
    if (set_->takes_children() || (is_thread && processes_.contains(fork->pid))) {
      forks_.push_back({*fork});
    }
  } else if (const auto* exit = std::get_if<ExitRecord>(&record)) {
    const bool is_known = processes_.contains(exit->pid);
    if (!is_known && exit->pid == exit->tid && bits_) bits_->leave(exit->pid);
    const bool may_be_known = is_known || may_join();
    if (may_be_known && !handle_end(*exit))
      early_ends_.keep(exit->tid, exit->common.time_ns, *exit);
  } else if (const auto* map = std::get_if<MmapRecord>(&record)) {
    handle_map(*map);
  }
}

void Session::handle_map(const MmapRecord& map) {
  const Pid process = map.common.pid;
  if (!processes_.contains(process) && !may_join()) return;
  MapEvent event{map.start,          map.length,     map.file_offset,
                 map.device,         map.inode,      std::string(without_deleted(map.path)),
                 map.common.time_ns, map.generation, process};
  if (may_join() && map.inode != 0) mapped_files_.push_back({process, event.time_ns, event.path});
  if (!give_if_known(event)) early_maps_.keep(process, map.common.time_ns, std::move(event));
}

bool Session::give_if_known(MapEvent& map) {
  if (!processes_.contains(map.process)) return false;
  merger_.push(std::move(map));
  return true;
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
  if (events.was_gone()) losses_.unseen_ns += exit.common.time_ns - events.since_ns();
  if (const auto process = processes_.find(exit.tid); process != processes_.end()) {
    process->second.first_ended_ns = exit.common.time_ns;
  }
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
    merger_.push(ThreadStartEvent{events.thread(), {}, time_ns, false, false, events.process()});
    renamed_.push_back({before.tid, tid, time_ns});
  }
  merger_.push(ExecEvent{events.thread(), time_ns, events.process()});
}

void Session::move_renamed() {
  for (const auto& [from, to, time_ns] : std::exchange(renamed_, {})) {
    finish(to, time_ns);
    refused_.erase(to);
    auto node = threads_.extract(from);
    if (node.empty()) continue;
    const auto process = processes_.find(node.mapped().process());
    if (process == processes_.end()) continue;  // it has left the set meanwhile
    process->second.threads.erase(from);
    process->second.threads.insert(to);
    born_.push_back(to);
    // It had ended by its old number only.
    if (node.mapped().was_gone() && !node.mapped().open_again(plan_)) lost_since_scan_ = true;
    node.key() = to;
    threads_.insert(std::move(node));
  }
}

// Births, and programs that processes execute, in the order of time. A thread may end, or create
// another one, before its birth is read, by one drain if different cores tell of the two.
void Session::handle_births(Nanoseconds older_than_ns) {
  std::vector<Fork> forks = std::exchange(forks_, {});
  std::vector<Executed> execs = std::exchange(executed_, {});
  std::stable_sort(forks.begin(), forks.end(), [](const Fork& left, const Fork& right) {
    return left.common.time_ns < right.common.time_ns;
  });
  std::stable_sort(execs.begin(), execs.end(), [](const Executed& left, const Executed& right) {
    return left.time_ns < right.time_ns;
  });
  auto exec = execs.begin();
  for (Fork& fork : forks) {
    for (; exec != execs.end() && exec->time_ns < fork.common.time_ns; ++exec) {
      take(std::move(*exec));
    }
    take(fork);
  }
  for (; exec != execs.end(); ++exec) take(std::move(*exec));
  give_early(early_ends_, older_than_ns,
             [this](const ExitRecord& exit) { return handle_end(exit); });
  give_early(names_, older_than_ns, [this](NameEvent& name) { return give_if_known(name); });
  give_early(early_maps_, older_than_ns, [this](MapEvent& map) { return give_if_known(map); });
  std::erase_if(mapped_files_, [&](const MappedFile& map) { return map.time_ns < older_than_ns; });
}

void Session::give_early(Nanoseconds older_than_ns) {
  give_early(early_samples_, older_than_ns,
             [this](SampleEvent& sample) { return give_if_known(sample); });
  give_early(early_switches_, older_than_ns, [this](CoreSwitch& change) { return give(change); });
  give_early(early_wakings_, older_than_ns,
             [this](const CoreWaking& waking) { return give(waking); });
  born_.clear();
}

void Session::take(Fork& fork) {
  if (plan_.by_tasks && !threads_.contains(fork.parent_tid) && !std::exchange(fork.is_late, true)) {
    forks_.push_back(fork);
    return;
  }
  if (processes_.contains(fork.parent_pid)) handle_fork(fork);
  // A BPF program may have set the bit of a child that is not taken, such as one of a process that
  // has left.
  if (bits_ && fork.pid != fork.parent_pid && !processes_.contains(fork.pid)) {
    bits_->leave(fork.pid);
  }
}

// The first file with code that is mapped after an exec is the program's. Its record may be read
// one drain later. Returns "" if it was not read.
std::string Session::file_of(const Executed& exec) const {
  const MappedFile* first = nullptr;
  for (const MappedFile& map : mapped_files_) {
    if (map.process != exec.process || map.time_ns < exec.time_ns) continue;
    if (first == nullptr || map.time_ns < first->time_ns) first = &map;
  }
  return first == nullptr ? std::string() : first->path;
}

bool Session::after_exec(const Executed& exec, bool is_member) {
  const std::string file = file_of(exec);
  return set_->after_exec(exec.process, {exec.name, file}, is_member);
}

void Session::leave_by_exec() {
  std::erase_if(executed_by_own_, [this](Executed& exec) {
    if (file_of(exec).empty() && !std::exchange(exec.is_late, true)) return false;
    if (!after_exec(exec, true)) leave_process(exec.process, exec.time_ns);
    return true;
  });
}

// Who called exec is not told: it is the one thread that lives, because all others have ended by
// then, the first one too. The end of a thread, or the birth of the process, may be read one drain
// later, from another core.
void Session::take(Executed exec) {
  const bool is_member = processes_.contains(exec.process);
  ThreadEvents* caller = is_member ? caller_of_exec(exec) : nullptr;
  const bool is_told = is_member ? caller != nullptr : !set_->takes_children();
  const bool is_clear = is_told && !(may_join() && file_of(exec).empty());
  if (!is_clear && !std::exchange(exec.is_late, true)) {
    executed_.push_back(std::move(exec));
    return;
  }
  const Pid process = exec.process;
  const Nanoseconds time_ns = exec.time_ns;
  const bool stays = after_exec(exec, is_member);
  if (!is_member) {
    if (stays) join(std::move(exec));
  } else if (caller != nullptr) {
    exec_by(*caller, std::move(exec));
  } else {
    merger_.push(ExecEvent{{process, 0}, time_ns, process});  // by one that is not followed
  }
  if (is_member && !stays) leave_process(process, time_ns);
}

// What it has done meanwhile was not followed.
void Session::join(Executed exec) {
  if (!may_watch(exec.process)) return;
  const Nanoseconds now_ns = monotonic_now();
  if (!open_or_refuse(exec.process, exec.process, {}, exec.time_ns, false)) {
    return count_missed(exec.process);
  }
  losses_.unseen_ns += std::max<Nanoseconds>(0, now_ns - exec.time_ns);
  const ThreadId thread = threads_.at(exec.process).thread();
  merger_.push(ExecEvent{thread, exec.time_ns, exec.process});
  merger_.push(NameEvent{thread, exec.time_ns, std::move(exec.name)});
}

ThreadEvents* Session::caller_of_exec(const Executed& exec) {
  ThreadEvents* caller = nullptr;
  for (const Tid tid : processes_.at(exec.process).threads) {
    ThreadEvents& events = threads_.at(tid);
    const bool had_ended = events.exit_seen() && events.exited_ns() < exec.time_ns;
    if (had_ended || events.since_ns() > exec.time_ns) continue;
    if (caller != nullptr && !exec.is_late) return nullptr;
    // The end of some may have been lost.
    if (caller == nullptr || tid == exec.process) caller = &events;
  }
  return caller;
}

void Session::exec_by(ThreadEvents& caller, Executed exec) {
  const ThreadId before = caller.thread();
  handle_exec(caller, exec.process, exec.time_ns);
  merger_.push(NameEvent{caller.thread(), exec.time_ns, std::move(exec.name)});
  if (before != caller.thread()) move_renamed();
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
  ThreadId parent_id = parent == threads_.end() ? ThreadId{} : parent->second.thread();
  const bool is_process = fork.pid != fork.parent_pid;
  // What a child did before its own events are open is not told: it may run another program.
  if (is_process && !plan_.by_tasks) parent_id = {};
  if (const auto known = threads_.find(fork.tid); known != threads_.end()) {
    // A scan found it before its FORK record was read. Otherwise the number is used again, and the
    // EXIT record was lost.
    if (known->second.opened_ns() >= fork.common.time_ns) return;
    finish(fork.tid, fork.common.time_ns);
  }
  refused_.erase(fork.tid);
  switches_in_ += kSwitchesOfBirth;
  const Nanoseconds parent_since_ns = processes_.at(fork.parent_pid).since_ns;
  if (const auto earlier = processes_.find(fork.pid); is_process && earlier != processes_.end()) {
    if (earlier->second.threads.empty()) processes_.erase(earlier);
  }
  if (!may_watch(fork.pid)) return;
  if (!open_or_refuse(fork.pid, fork.tid, parent_id, fork.common.time_ns, true)) {
    if (procfs::is_kernel_worker(fork.pid, fork.tid)) {
      refused_.insert(fork.tid);
    } else {
      count_missed(fork.pid);
    }
    return;
  }
  Process& process = processes_.at(fork.pid);
  if (is_process && parent_since_ns <= fork.common.time_ns) process.since_ns = fork.common.time_ns;
  const bool since_birth = process.since_ns <= fork.common.time_ns;
  if (plan_.by_scheduler && plan_.by_core && since_birth) return;  // it is seen whole
  if (threads_.at(fork.tid).was_gone()) return;  // its end tells for how long it was not seen
  losses_.unseen_ns += std::max<Nanoseconds>(0, monotonic_now() - fork.common.time_ns);
  if (!is_process || plan_.by_tasks) return;
  const auto status = procfs::thread_status(fork.pid, fork.tid);
  if (status && !set_->after_exec(fork.pid, {status->name}, true)) {
    leave_process(fork.pid, monotonic_now());
  }
}

}  // namespace causalctl::perf
