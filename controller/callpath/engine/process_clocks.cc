#include "controller/callpath/engine/process_clocks.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace causalctl::callpath {

Nanoseconds ProcessClocks::Process::used_ns() const {
  const Nanoseconds read_ns = std::max<Nanoseconds>(0, last_ns - base_ns);
  return threads > 0 || is_read_to_end ? read_ns : std::max(read_ns, on_core_ns);
}

void ProcessClocks::start(Nanoseconds now_ns) {
  start_ns_ = now_ns;
  for (const Pid pid : std::exchange(members_, {})) {
    const auto cpu_ns = reader_.cpu_ns(pid);
    if (!cpu_ns) continue;
    Process& process = processes_[pid];
    process.base_ns = process.last_ns = *cpu_ns;
  }
}

void ProcessClocks::take(const perf::Event& event) {
  if (const auto* start = std::get_if<perf::ThreadStartEvent>(&event)) {
    if (!start->is_peer) begin(*start);
  } else if (const auto* exit = std::get_if<perf::ThreadExitEvent>(&event)) {
    end(*exit);
  } else if (const auto* change = std::get_if<perf::SwitchEvent>(&event)) {
    const auto thread = threads_.find(change->thread);
    if (thread == threads_.end()) return;
    if (change->kind == perf::SwitchKind::in) {
      thread->second.came_ns = change->time_ns;
    } else {
      leave(thread->second, change->time_ns);
    }
  }
}

void ProcessClocks::begin(const perf::ThreadStartEvent& start) {
  const auto [known, is_new] = processes_.try_emplace(start.process);
  Process& process = known->second;
  // Of a process whose birth was followed all that it has used counts.
  const bool is_born = start.parent.serial != 0 && start.time_ns > start_ns_;
  if (is_born && process.threads == 0) {  // of an earlier process with this number there is no more
    forgotten_ns_ += process.used_ns();
    process = {};
  }
  if (is_new && !is_born) {
    process.base_ns = process.last_ns = reader_.cpu_ns(start.process).value_or(0);
  }
  ++process.threads;
  threads_[start.thread] = {start.process, 0};
}

void ProcessClocks::end(const perf::ThreadExitEvent& exit) {
  const auto thread = threads_.extract(exit.thread);
  if (!thread) return;
  leave(thread.mapped(), exit.time_ns);
  const auto process = processes_.find(thread.mapped().process);
  if (process == processes_.end() || --process->second.threads > 0) return;
  over_.push_back(process->first);
  // One that lives has left the set, or its thread has a further number by exec.
  if (!reader_.has_ended(process->first)) return;
  const auto cpu_ns = reader_.cpu_ns(process->first);
  if (!cpu_ns || *cpu_ns < process->second.last_ns) return;  // a later process with this number
  process->second.last_ns = *cpu_ns;
  process->second.is_read_to_end = true;
}

void ProcessClocks::leave(Thread& thread, Nanoseconds time_ns) {
  const Nanoseconds came_ns = std::exchange(thread.came_ns, 0);
  const auto process = processes_.find(thread.process);
  if (came_ns == 0 || process == processes_.end()) return;
  process->second.on_core_ns += std::max<Nanoseconds>(0, time_ns - std::max(came_ns, start_ns_));
}

void ProcessClocks::read() {
  for (const Pid pid : std::exchange(over_, {})) {
    const auto process = processes_.find(pid);
    if (process == processes_.end() || process->second.threads > 0) continue;
    forgotten_ns_ += process->second.used_ns();
    processes_.erase(process);
  }
  for (auto& [pid, process] : processes_) {
    if (const auto cpu_ns = reader_.cpu_ns(pid)) {
      process.last_ns = std::max(process.last_ns, *cpu_ns);
    }
  }
}

Nanoseconds ProcessClocks::cpu_ns() const {
  Nanoseconds sum_ns = forgotten_ns_;
  for (const auto& [pid, process] : processes_) sum_ns += process.used_ns();
  return sum_ns;
}

std::vector<Pid> ProcessClocks::processes() const {
  std::vector<Pid> pids;
  for (const auto& [pid, process] : processes_) pids.push_back(pid);
  return pids;
}

}  // namespace causalctl::callpath
