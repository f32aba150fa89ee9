#include "controller/callpath/engine/processes.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "controller/base/base_name.h"
#include "controller/base/clock.h"
#include "controller/base/procfs.h"

namespace causalctl::callpath {
namespace {

constexpr std::size_t kMostLatest = 4;
constexpr std::size_t kMostEnded = 32;  // that are kept for what is still asked of them
constexpr Nanoseconds kLongestUnnamed = 100 * kMillisecond;
constexpr Nanoseconds kReadFor = 4 * kMillisecond;  // at most, at a time

// Returns the base name of its executable, or the kernel's name of it; "" if it is gone.
std::string program_of(Pid pid) {
  const std::string path = procfs::executable(pid);
  if (!path.empty()) return std::string(base_name(path));
  const auto status = procfs::thread_status(pid, pid);
  return status ? status->name : std::string();
}

}  // namespace

Processes::Process::Process(Pid pid, ProcessPlaces of, std::unique_ptr<unwind::Unwinder> by)
    : places(std::move(of)),
      unwinder(std::move(by)),
      following(*unwinder),
      mappings(pid, {&places, &following}) {}

Processes::Processes(Places& places, Recording& recording, Belongs belongs)
    : places_(places), belongs_(std::move(belongs)), list_(recording) {}

Processes::Process* Processes::find(Pid process) {
  const auto known = processes_.find(process);
  return known == processes_.end() ? nullptr : known->second.get();
}

Processes::Process* Processes::find(ThreadId thread) {
  const Pid process = process_of(thread);
  return process == 0 ? nullptr : find(process);
}

Pid Processes::process_of(ThreadId thread) const {
  const auto known = process_of_.find(thread);
  return known == process_of_.end() ? 0 : known->second;
}

Stacks Processes::stacks_of(ThreadId thread) {
  Process* process = find(thread);
  return process == nullptr ? Stacks() : Stacks{process_of(thread), process->unwinder.get()};
}

ProcessPlaces* Processes::places_of(Pid pid) {
  Process* process = find(pid);
  if (process == nullptr) return nullptr;
  if (latest_.empty() || latest_.front() != pid) {
    std::erase(latest_, pid);
    latest_.insert(latest_.begin(), pid);
    if (latest_.size() > kMostLatest) latest_.pop_back();
  }
  return &process->places;
}

bool Processes::are_mappings_known(ThreadId thread, Nanoseconds time_ns) const {
  const bool is_only = !belongs_ && processes_.size() == 1;
  const auto known = is_only ? processes_.begin() : processes_.find(process_of(thread));
  return known != processes_.end() && known->second->mappings.known_at(time_ns);
}

void Processes::add(Pid pid, bool is_born) {
  if (processes_.contains(pid)) return;
  const auto read = procfs::maps(pid);
  if (!read && !belongs_) procfs::throw_unreadable(pid, "maps");
  const auto maps = read.value_or(std::vector<procfs::Map>());
  auto process =
      std::make_unique<Process>(pid, ProcessPlaces(pid, places_),
                                std::make_unique<unwind::Unwinder>(pid, places_.images(), maps));
  process->places.take(maps);
  process->mappings.begin_at(lost_);
  if (belongs_) {
    process->run = list_.began(pid, program_of(pid), is_born);
    process->places.runs(process->run->program());
  }
  processes_[pid] = std::move(process);
}

Processes::Process& Processes::begin(const perf::ThreadStartEvent& start) {
  const Pid parent_pid = process_of(start.parent);
  Process* parent = parent_pid == start.process ? nullptr : find(parent_pid);
  if (parent == nullptr) {
    add(start.process, true);
    return *processes_[start.process];
  }
  // Of an earlier process with this number there is nothing more to come.
  auto& child = processes_[start.process];
  child = std::make_unique<Process>(start.process, ProcessPlaces(start.process, parent->places),
                                    std::make_unique<unwind::Unwinder>(
                                        start.process, places_.images(), parent->unwinder->maps()));
  child->mappings.begin_like(parent->mappings, start.time_ns);
  if (belongs_) child->run = list_.began(start.process, parent->run->program(), true);
  return *child;
}

void Processes::read_mappings() {
  for (auto& [pid, process] : processes_) process->mappings.read();
}

// The first file that is mapped after an exec is the program, or what runs it.
void Processes::executed(const perf::ExecEvent& exec) {
  Process* process = find(exec.process);
  if (process == nullptr) return;
  process->mappings.take(exec);
  if (!belongs_) return;
  process->executed = exec.thread;
  process->executed_name.clear();
  process->executed_ns = exec.time_ns;
  const perf::MapEvent* map = process->mappings.first_file_since(exec.time_ns);
  if (map != nullptr) name_program(*process, map->path);
}

// After an exec. Without a path it has the kernel's name.
void Processes::name_program(Process& process, std::string_view path) {
  std::string program = std::exchange(process.executed_name, {});
  if (!path.empty()) program = base_name(path);
  if (program.empty()) program = process.run->program();
  process.run = list_.executed(process.run, program);
  process.places.runs(program);
  belongs_(*std::exchange(process.executed, std::nullopt), process.run);
}

void Processes::take(const perf::Event& event) {
  if (const auto* start = std::get_if<perf::ThreadStartEvent>(&event)) {
    if (start->is_peer) return;
    Process* known = find(start->process);
    const bool is_new = known == nullptr || (known->threads == 0 && start->parent.serial != 0);
    Process& process = is_new ? begin(*start) : *known;
    ++process.threads;
    process_of_[start->thread] = start->process;
    if (process.run) belongs_(start->thread, process.run);
    return;
  }
  if (const auto* map = std::get_if<perf::MapEvent>(&event)) {
    if (Process* process = find(map->process)) {
      const bool is_new = process->executed && map->time_ns >= process->executed_ns;
      if (is_new && map->inode != 0) name_program(*process, map->path);
      process->mappings.take(event);
    }
    return;
  }
  if (const auto* exec = std::get_if<perf::ExecEvent>(&event)) return executed(*exec);
  const ThreadId thread = perf::thread_of(event);
  Process* process = find(thread);
  if (process == nullptr) return;
  if (const auto* name = std::get_if<perf::NameEvent>(&event)) {
    if (process->executed == thread) process->executed_name = name->name;
    return;
  }
  const bool is_end = std::holds_alternative<perf::ThreadExitEvent>(event);
  const bool is_late = perf::time_of(event) - process->executed_ns > kLongestUnnamed;
  if (process->executed && (is_end || is_late)) name_program(*process, {});
  if (std::holds_alternative<perf::SampleEvent>(event)) process->mappings.take(event);
  if (is_end) {
    ended(thread, *process);
  }
}

void Processes::lost(std::uint64_t records, Nanoseconds now_ns) {
  lost_ = records;
  const Nanoseconds until_ns = now_ns + kReadFor;
  auto next = processes_.upper_bound(last_read_);
  for (std::size_t i = 0; i < processes_.size(); ++i, ++next) {
    if (next == processes_.end()) next = processes_.begin();
    last_read_ = next->first;
    next->second->mappings.lost(records, now_ns);
    if (monotonic_now() > until_ns) return;  // of the others the next time
  }
}

void Processes::read_compiled() {
  for (auto& [pid, process] : processes_) process->places.read_compiled();
}

void Processes::ended(ThreadId thread, Process& process) {
  const auto known = process_of_.find(thread);
  if (--process.threads == 0 && belongs_) ended_.push_back(known->second);
  process_of_.erase(known);
}

void Processes::forget_ended() {
  for (; ended_.size() > kMostEnded; ended_.pop_front()) {
    const auto known = processes_.find(ended_.front());
    if (known == processes_.end() || known->second->threads > 0) continue;
    std::erase(latest_, known->first);
    processes_.erase(known);
  }
}

void Processes::mend_stacks() {
  for (auto& [pid, process] : processes_) process->unwinder->mend_stacks();
}

}  // namespace causalctl::callpath
