#include "controller/perf/peers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"
#include "controller/perf/connections.h"
#include "controller/perf/translate.h"

namespace causalctl::perf {
namespace {

constexpr unsigned kMostLosses = 5;  // readings in which records were lost

constexpr std::string_view kNotFollowed =
    "some processes that the target exchanges wake-ups with are not followed";
constexpr std::string_view kNotTried =
    "whether some processes that the target wakes also wake it cannot be seen";

// A limit over all peers: each thread costs a ring, which is read at each tick.
constexpr std::size_t kMostThreads = 256;
constexpr std::size_t kMostThreadsLocked = 16;  // if we may not lock more memory
constexpr std::ptrdiff_t kMostTried = 64;       // threads of one process on trial
constexpr unsigned kRingPages = 64, kRingPagesLocked = 8;

// Returns 0 if the thread is gone, or is a kernel thread.
Pid process_of(Tid tid) {
  const auto stat = procfs::read_text(fmt::format("/proc/{}/stat", tid));
  const auto status = procfs::status(tid);
  if (!stat || !status || procfs::parse_is_kernel_thread(*stat)) return 0;
  return status->tgid;
}

}  // namespace

Peers::Peers(Pid target, std::set<Pid> ours, WakingFormat waking, bool may_lock)
    : target_(target),
      none_(std::move(ours)),
      waking_(waking),
      most_threads_(may_lock ? kMostThreads : kMostThreadsLocked) {
  none_.insert(target);
  plan_.sample = false;
  plan_.rings.pages = may_lock ? kRingPages : kRingPagesLocked;
}

void Peers::exited(Tid tid, Nanoseconds time_ns, Merger& merger) {
  const auto entry = threads_.find(tid);
  if (entry == threads_.end() || time_ns < entry->second.since_ns) return;
  ThreadEvents& events = entry->second.events;
  if (events.exit_seen()) return;
  events.see_exit(time_ns);
  merger.push(ThreadExitEvent{events.thread(), time_ns});
}

void Peers::executed(Pid process) {
  if (processes_.contains(process)) executed_.insert(process);
}

void Peers::start(const perf_event_attr& waking, SchedulerWatch* scheduler, bool by_tasks) {
  plan_.by_tasks = by_tasks;
  plan_.waking = waking;
  plan_.by_scheduler = scheduler != nullptr;
  plan_.running = true;
  scheduler_ = scheduler;
}

std::optional<ThreadId> Peers::thread_at(Tid tid, Nanoseconds time_ns) const {
  const auto thread = threads_.find(tid);
  if (thread == threads_.end() || time_ns < thread->second.since_ns) return std::nullopt;
  return thread->second.events.thread();
}

void Peers::woken(Tid tid) {
  if (!plan_.running || tid <= 0 || threads_.contains(tid)) return;
  if (const auto tried = tried_.find(tid); tried != tried_.end()) {
    trials_.asked(tried->second.process);
  } else {
    trials_.woken(tid);
  }
}

std::uint64_t Peers::read(Merger& merger, const std::function<bool(Tid)>& of_target) {
  for (auto& [tid, thread] : tried_) read_tried(thread, of_target);
  std::uint64_t all_lost = 0;
  for (auto& [tid, thread] : threads_) {
    const std::uint64_t lost = read(thread, merger);
    if (lost > 0) ++processes_[thread.process];
    all_lost += lost;
  }
  return all_lost;
}

std::uint64_t Peers::read(Thread& thread, Merger& merger) {
  ThreadEvents& events = thread.events;
  const ThreadId id = events.thread();
  std::uint64_t lost = 0;
  lost += events.read([&](const Record& record) {
    if (const auto* change = std::get_if<SwitchRecord>(&record)) {
      merger.push(
          SwitchEvent{id, change->common.time_ns, change->common.cpu, switch_kind(*change)});
    } else if (const auto* sample = std::get_if<SampleRecord>(&record)) {
      const auto waking = parse_waking(sample->raw, waking_);
      if (waking) {
        merger.push(WakeEvent{id, waking->woken, sample->common.time_ns, waking->context});
      }
    } else if (const auto* exit = std::get_if<ExitRecord>(&record)) {
      exited(exit->tid, exit->common.time_ns, merger);
    } else if (const auto* comm = std::get_if<CommRecord>(&record)) {
      if (comm->exec) executed_.insert(thread.process);
    } else if (const auto* missing = std::get_if<LostRecord>(&record)) {
      lost += missing->count;
    }
  });
  return lost;
}

// Losses do not matter here: wake-ups come again.
void Peers::read_tried(Thread& thread, const std::function<bool(Tid)>& of_target) {
  thread.events.read([&](const Record& record) {
    const auto* sample = std::get_if<SampleRecord>(&record);
    if (sample == nullptr) return;
    const auto waking = parse_waking(sample->raw, waking_);
    if (waking && waking->context != WakeContext::hardirq && of_target(waking->woken)) {
      trials_.answered(thread.process);
    }
  });
}

template <typename Which>
void Peers::close(Nanoseconds now_ns, Merger& merger, Which&& which) {
  std::erase_if(threads_, [&](const auto& entry) {
    if (!which(entry.second)) return false;
    const ThreadEvents& events = entry.second.events;
    if (!events.exit_seen()) merger.push(ThreadExitEvent{events.thread(), now_ns});
    return true;
  });
}

void Peers::scan(Nanoseconds now_ns, std::uint32_t& last_serial, Merger& merger) {
  if (!plan_.running) return;
  find_peers(now_ns);
  find_candidates(now_ns);
  const auto executed = std::exchange(executed_, {});
  close(now_ns, merger, [&](const Thread& thread) {
    const ThreadEvents& events = thread.events;
    return events.ended() || (plan_.by_tasks && events.exit_seen()) ||
           executed.contains(thread.process);
  });
  for (const auto& [process, losses] : std::map(processes_)) {
    if (losses > kMostLosses)
      refuse(process, kNotFollowed, "its records come faster than they can be read");
    scan_process(process, last_serial, merger);
  }
  // Some may have been refused since their threads were opened.
  close(now_ns, merger, [&](const Thread& thread) { return !processes_.contains(thread.process); });
}

void Peers::find_candidates(Nanoseconds now_ns) {
  std::map<Pid, std::vector<Tid>> woken;
  for (const Tid tid : trials_.take_woken_often(now_ns)) {
    const Pid process = process_of(tid);
    if (process == 0 || none_.contains(process) || processes_.contains(process)) continue;
    if (!trials_.begin(process, now_ns)) continue;
    if (are_connected(target_, process)) {
      trials_.end(process);
      admit(process, "talks with the target over a connection");
    } else {
      woken[process].push_back(tid);
    }
  }
  for (const Pid process : trials_.on_trial()) try_out(process, std::move(woken[process]));
}

// Opens the threads of a process that are not open yet: `first`, then the others, as far as there
// is room.
void Peers::try_out(Pid process, std::vector<Tid> first) {
  ThreadPlan plan = plan_;
  plan.switches = plan.by_scheduler = plan.by_tasks = false;
  plan.rings.pages = kRingPagesLocked;
  const std::vector<Tid> listed = procfs::threads(process);
  if (listed.empty()) return trials_.end(process);
  first.insert(first.end(), listed.begin(), listed.end());
  auto tried = std::count_if(tried_.begin(), tried_.end(), [process](const auto& entry) {
    return entry.second.process == process;
  });
  try {
    for (const Tid tid : first) {
      if (tried >= kMostTried || threads_.size() + tried_.size() >= most_threads_) return;
      if (tried_.contains(tid)) continue;
      auto events = ThreadEvents::open({tid, 0}, process, monotonic_now(), 0, plan);
      if (!events) continue;  // the thread is ending
      tried_.emplace(tid, Thread{process, std::move(*events), 0});
      ++tried;
    }
  } catch (const Error& error) {
    trials_.end(process);
    refuse(process, kNotTried, error.hint().empty() ? error.what() : error.hint());
  }
}

void Peers::admit(Pid process, std::string_view why) {
  if (scheduler_ != nullptr) scheduler_->processes()->follow(process);
  processes_.emplace(process, 0);
  std::string& name = names_[process];
  name = fmt::format("{} (process {})", procfs::status(process).value_or(procfs::Status{}).name,
                     process);
  log::note("{} {}: its switches are watched, too", name, why);
}

void Peers::leave(Pid process) {
  if (scheduler_ != nullptr) scheduler_->processes()->leave(process);
  processes_.erase(process);
}

void Peers::find_peers(Nanoseconds now_ns) {
  for (const Pid process : trials_.take_peers(now_ns)) {
    admit(process, "exchanges wake-ups with the target");
  }
  std::erase_if(tried_, [this](const auto& entry) {
    return !trials_.on_trial(entry.second.process) || entry.second.events.ended();
  });
}

// Opens the threads of a process that are not open yet.
void Peers::scan_process(Pid process, std::uint32_t& last_serial, Merger& merger) {
  if (!processes_.contains(process)) return;
  auto fresh = procfs::threads(process);
  for (auto& [tid, thread] : threads_) {
    if (thread.process != process) continue;
    thread.events.see(std::binary_search(fresh.begin(), fresh.end(), tid), monotonic_now());
  }
  if (fresh.empty()) leave(process);
  std::erase_if(fresh, [this](Tid tid) { return threads_.contains(tid); });
  if (threads_.size() + fresh.size() > most_threads_) {
    return refuse(process, kNotFollowed,
                  fmt::format("all together have more than {} threads", most_threads_));
  }
  for (const Tid tid : fresh) {
    if (!open(process, tid, last_serial, merger)) return;
  }
}

bool Peers::open(Pid process, Tid tid, std::uint32_t& last_serial, Merger& merger) {
  try {
    auto events = ThreadEvents::open({tid, last_serial + 1}, process, monotonic_now(), 0, plan_);
    if (!events) return true;  // the thread is ending
    ++last_serial;
    // From when its events are open, which takes a busy machine milliseconds, a thread that blocks
    // says so by a record. Its state is read after that.
    const Nanoseconds open_ns = monotonic_now();
    const std::string stat = procfs::thread_stat(process, tid).value_or("");
    const char state = procfs::parse_state(stat);
    if (stat.empty() || state == 'Z' || state == 'X') return true;
    merger.push(
        ThreadStartEvent{events->thread(), {}, open_ns, procfs::is_blocked(state), true, process});
    threads_.emplace(tid, Thread{process, std::move(*events), open_ns});
    return true;
  } catch (const Error& error) {
    refuse(process, kNotFollowed, error.hint().empty() ? error.what() : error.hint());
    return false;
  }
}

std::vector<std::string> Peers::names() const {
  std::vector<std::string> names;
  for (const auto& [process, name] : names_) names.push_back(name);
  return names;
}

void Peers::refuse(Pid process, std::string_view what, const std::string& cause) {
  leave(process);
  names_.erase(process);
  none_.insert(process);
  reasons_.push_back(fmt::format("{}: {}", what, cause));
}

}  // namespace causalctl::perf
