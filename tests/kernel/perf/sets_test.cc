// Tests sessions of several processes, and of those that come and go.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "controller/base/clock.h"
#include "controller/perf/process_set.h"
#include "tests/kernel/perf/child.h"
#include "tests/support/folder.h"
#include "tests/support/skip.h"

namespace causalctl::perf::test {
namespace {

struct Rules final : ProcessSet {
  std::vector<Pid> present() override { return processes; }
  bool takes_children() const override { return children; }
  bool is_open() const override { return open; }
  bool after_exec(Pid, const Program& program, bool is_member) override {
    files.emplace_back(program.file);
    return exec ? exec(program.name) : is_member;
  }

  bool has_room(Pid process, std::size_t watched) override {
    if (watched >= most) had_no_room.insert(process);
    return watched < most;
  }

  std::size_t most = 1000;
  std::set<Pid> had_no_room;
  std::vector<Pid> processes;
  bool children = false, open = false;
  std::function<bool(std::string_view name)> exec;
  std::vector<std::string> files;  // of the programs that were told of
};

std::shared_ptr<Rules> with_children(Pid process) {
  auto set = std::make_shared<Rules>();
  set->processes = {process};
  set->children = true;
  return set;
}

bool is_followed_by_bpf(const Session& session) {
  return session.scheduler_trial() && session.scheduler_trial()->is_seen();
}

// Of what threads of `processes` did between their switches.
Nanoseconds time_on_cores(const std::vector<Event>& events, const std::set<Pid>& processes) {
  std::map<ThreadId, Pid> process_of;
  std::map<ThreadId, Nanoseconds> since;
  Nanoseconds sum_ns = 0;
  const auto leaves = [&](ThreadId thread, Nanoseconds time_ns) {
    const auto came = since.extract(thread);
    if (came && processes.contains(process_of[thread])) sum_ns += time_ns - came.mapped();
  };
  for (const Event& event : events) {
    if (const auto* start = std::get_if<ThreadStartEvent>(&event)) {
      process_of[start->thread] = start->process;
    } else if (const auto* change = std::get_if<SwitchEvent>(&event)) {
      if (change->kind != SwitchKind::in) leaves(change->thread, change->time_ns);
      if (change->kind == SwitchKind::in) since.emplace(change->thread, change->time_ns);
    } else if (const auto* end = std::get_if<ThreadExitEvent>(&event)) {
      leaves(end->thread, end->time_ns);
    }
  }
  return sum_ns;
}

// Forks a process that does `body`, and waits for its end.
template <typename Body>
void run_process(Body&& body) {
  const Pid pid = fork();
  if (pid == 0) {
    body();
    _exit(0);
  }
  waitpid(pid, nullptr, 0);
}

std::string canonical_path(const std::string& path) { return std::filesystem::canonical(path); }

void run_program(const char* path) {
  run_process([path] { execl(path, path, nullptr); });
}

}  // namespace

TEST_CASE("Processes of 3 ms are seen whole, with their own threads", "[perf]") {
  if (!perf_is_allowed()) return;
  constexpr int kProcesses = 100;
  constexpr Nanoseconds kWork = 3 * kMillisecond;
  Child child([] {
    for (int i = 0; i < kProcesses; ++i) run_process([] { spin_for(kWork); });
    await_go();
  });
  Session session(with_children(child.pid()),
                  {.period_ns = 500 * kMicrosecond, .clocks = Clocks::cheaper});
  if (!session.by_core() || !is_followed_by_bpf(session)) {
    return causalctl::test::skip_test_case("cores or the scheduler cannot be followed here");
  }
  session.start();
  child.go();
  std::vector<Event> events;
  REQUIRE(drain_until(session, events, [](const std::vector<Event>& all) {
    return only<ThreadExitEvent>(all).size() == kProcesses;
  }));
  CHECK(session.losses().threads_missed == 0);
  CHECK(session.losses().unseen_ns == 0);
  CHECK(session.losses().records_lost == 0);

  std::set<Pid> processes;
  std::set<ThreadId> threads;
  for (const auto& start : only<ThreadStartEvent>(events)) {
    if (start.process == child.pid()) continue;
    CHECK(start.process == start.thread.tid);
    CHECK(start.parent.tid == child.pid());
    CHECK(start.parent.serial != 0);
    processes.insert(start.process);
    threads.insert(start.thread);
  }
  CHECK(threads.size() == kProcesses);
  const auto on_cores_ns = static_cast<double>(time_on_cores(events, processes));
  CHECK(on_cores_ns > 0.99 * static_cast<double>(kProcesses * kWork));
  Nanoseconds sampled_ns = 0;
  for (const auto& sample : only<SampleEvent>(events)) {
    if (threads.contains(sample.thread)) sampled_ns += sample.period_ns;
  }
  // Ticks that come late when the machine stalls are one sample.
  CHECK(static_cast<double>(sampled_ns) > 0.7 * on_cores_ns);
  CHECK(static_cast<double>(sampled_ns) < 1.3 * on_cores_ns);
  // Those that have ended are forgotten.
  REQUIRE(drain_until(session, events, [&](const auto&) { return session.processes() == 1; }));
}

TEST_CASE("A program that a child executes is told of with its mappings, in their order",
          "[perf]") {
  if (!perf_is_allowed()) return;
  Child child([] {
    run_program("/bin/true");
    run_process([] { run_program("/bin/true"); });
    await_go();
  });
  SessionOptions options = either_way();
  options.clocks = Clocks::cores;  // a clock of its own cannot be opened once a thread has ended
  Session session(with_children(child.pid()), options);
  session.start();
  child.go();
  std::vector<Event> events;
  const bool all = drain_until(
      session, events,
      [](const std::vector<Event>& so_far) { return only<ThreadExitEvent>(so_far).size() == 3; },
      2 * kSecond);
  if (!is_followed_by_bpf(session)) {
    // A process may end, or have a child, before its events are open.
    CHECK((only<ThreadStartEvent>(events).size() >= 2 || session.losses().threads_missed > 0));
    return;
  }
  std::string so_far;
  for (const Event& event : events) {
    if (const auto* start = std::get_if<ThreadStartEvent>(&event)) {
      so_far +=
          fmt::format("start {} of {} at {}\n", start->thread.tid, start->process, start->time_ns);
    } else if (const auto* end = std::get_if<ThreadExitEvent>(&event)) {
      so_far += fmt::format("end {} at {}\n", end->thread.tid, end->time_ns);
    } else if (const auto* exec = std::get_if<ExecEvent>(&event)) {
      so_far += fmt::format("exec {} at {}\n", exec->thread.tid, exec->time_ns);
    }
  }
  INFO(so_far << session.losses().threads_missed << " missed, " << session.processes());
  REQUIRE(all);
  const auto execs = only<ExecEvent>(events);
  REQUIRE(execs.size() == 2);
  for (const ExecEvent& exec : execs) {
    CHECK(exec.process != child.pid());
    CHECK(exec.thread.serial != 0);
    std::vector<std::string> told;
    for (const Event& event : events) {
      const auto* start = std::get_if<ThreadStartEvent>(&event);
      const auto* map = std::get_if<MapEvent>(&event);
      const auto* end = std::get_if<ThreadExitEvent>(&event);
      if (start != nullptr && start->process == exec.process) told.emplace_back("start");
      if (end != nullptr && end->thread == exec.thread) told.emplace_back("end");
      const auto* other = std::get_if<ExecEvent>(&event);
      if (other != nullptr && other->process == exec.process) told.emplace_back("exec");
      if (map == nullptr || map->process != exec.process) continue;
      if (map->path.ends_with("/true")) told.emplace_back("program");
      if (map->path.find("/ld-") != std::string::npos) told.emplace_back("loader");
      if (map->path.find("/libc.so") != std::string::npos) told.emplace_back("library");
    }
    CHECK(told == std::vector<std::string>{"start", "exec", "program", "loader", "library", "end"});
  }
}

TEST_CASE("A thread that executes a program takes the number of its process", "[perf]") {
  if (!perf_is_allowed()) return;
  Child child([] {
    run_process([] {
      std::thread other([] {
        usleep(100'000);  // until it is followed
        execl("/bin/sleep", "sleep", "0.05", nullptr);
      });
      while (true) pause();
    });
    await_go();
  });
  const auto set = with_children(child.pid());
  Session session(set, {.period_ns = 500 * kMicrosecond});
  if (!is_followed_by_bpf(session)) {
    return causalctl::test::skip_test_case("the scheduler cannot be followed here");
  }
  session.start();
  child.go();
  std::vector<Event> events;
  REQUIRE(drain_until(session, events, [](const std::vector<Event>& all) {
    return only<ThreadExitEvent>(all).size() == 3;
  }));
  const auto execs = only<ExecEvent>(events);
  REQUIRE(execs.size() == 1);
  const Pid process = execs[0].process;
  CHECK(execs[0].thread.tid == process);
  std::vector<ThreadId> begun;
  std::map<ThreadId, Nanoseconds> ended;
  for (const auto& start : only<ThreadStartEvent>(events)) {
    if (start.process == process) begun.push_back(start.thread);
  }
  for (const auto& end : only<ThreadExitEvent>(events)) {
    CHECK(ended.emplace(end.thread, end.time_ns).second);
  }
  // The first thread, the other one, and that again, with the number of the first.
  REQUIRE(begun.size() == 3);
  CHECK((begun[0].tid == process && begun[1].tid != process && begun[2].tid == process));
  CHECK(begun[2] == execs[0].thread);
  for (const ThreadId thread : begun) CHECK(ended.contains(thread));
  CHECK(ended[begun[0]] <= execs[0].time_ns);
  CHECK(ended[begun[1]] == execs[0].time_ns);
  CHECK(ended[begun[2]] > execs[0].time_ns);
  const auto names = only<NameEvent>(events);
  CHECK(std::any_of(names.begin(), names.end(), [&](const NameEvent& each) {
    return each.thread == begun[2] && each.name == "sleep";
  }));
  CHECK(std::count(set->files.begin(), set->files.end(), canonical_path("/bin/sleep")) >= 1);
  REQUIRE(drain_until(session, events, [&](const auto&) { return session.processes() == 1; }));
}

TEST_CASE("A program whose file was removed is told of by its name", "[perf]") {
  if (!perf_is_allowed()) return;
  const causalctl::test::Folder folder;
  const std::string path = folder.file("program");
  std::filesystem::copy_file("/bin/sleep", path);
  Child child([&] {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    std::filesystem::remove(path);
    const char* words[] = {"program", "0.05", nullptr};
    fexecve(file, const_cast<char**>(words), environ);
    _exit(1);
  });
  Session session(with_children(child.pid()), either_way());
  session.start();
  child.go();
  std::vector<Event> events;
  REQUIRE(drain_until(session, events, [&](const std::vector<Event>& all) {
    const auto maps = only<MapEvent>(all);
    return std::any_of(maps.begin(), maps.end(),
                       [&](const MapEvent& map) { return map.path == path; });
  }));
}

TEST_CASE("A set of two processes ends with the second one", "[perf]") {
  if (!perf_is_allowed()) return;
  Child one([] { spin_for(20 * kSecond); });
  Child other([] { spin_for(20 * kSecond); });
  auto set = std::make_shared<Rules>();
  set->processes = {std::min(one.pid(), other.pid()), std::max(one.pid(), other.pid())};
  Session session(set, either_way());
  session.start();
  one.go();
  other.go();
  std::vector<Event> events;
  const auto sampled = [&](Pid process, Nanoseconds since_ns) {
    const auto samples = only<SampleEvent>(events);
    return std::any_of(samples.begin(), samples.end(), [&](const SampleEvent& each) {
      return each.thread.tid == process && each.time_ns > since_ns;
    });
  };
  REQUIRE(drain_until(session, events, [&](const auto&) {
    return sampled(one.pid(), 0) && sampled(other.pid(), 0);
  }));
  one.kill();
  const Nanoseconds killed_ns = monotonic_now();
  REQUIRE(drain_until(session, events, [&](const auto&) {
    return session.processes() == 1 && sampled(other.pid(), killed_ns);
  }));
  CHECK(session.target_alive());
  CHECK_FALSE(sampled(one.pid(), killed_ns));
  other.kill();
  REQUIRE(drain_until(session, events, [&](const auto&) { return !session.target_alive(); }));
}

TEST_CASE("Children for which a set has no room are not followed", "[perf]") {
  if (!perf_is_allowed()) return;
  Child child([] {
    std::vector<pid_t> children;
    for (int i = 0; i < 3; ++i) {
      children.push_back(fork());
      if (children.back() == 0) {
        while (true) ::pause();
      }
    }
    await_go();
    for (const pid_t each : children) {
      ::kill(each, SIGKILL);
      waitpid(each, nullptr, 0);
    }
    await_go();
  });
  const auto set = with_children(child.pid());
  set->most = 2;
  Session session(set, either_way());
  session.start();
  child.go();
  std::vector<Event> events;
  REQUIRE(drain_until(session, events, [&](const auto& all) {
    return set->had_no_room.size() >= 2 && only<ThreadStartEvent>(all).size() >= 2;
  }));
  CHECK(session.processes() == 2);
  CHECK(only<ThreadStartEvent>(events).size() == 2);
  CHECK(session.losses().threads_missed == 0);
  child.go();
  REQUIRE(drain_until(session, events, [&](const auto&) { return session.processes() == 1; }));
}

TEST_CASE("A process joins or leaves an open set by what it executes", "[perf]") {
  if (!perf_is_allowed()) return;
  Child child([] {
    for (int i = 0; i < 3; ++i) {
      run_process([] { execl("/bin/sh", "sh", "-c", "exec sleep 0.1", nullptr); });
    }
    await_go();
  });
  auto set = std::make_shared<Rules>();
  set->open = set->children = true;
  set->exec = [](std::string_view name) { return name == "sh"; };
  Session session(set, {.period_ns = 500 * kMicrosecond});
  if (!is_followed_by_bpf(session)) {
    return causalctl::test::skip_test_case("the scheduler cannot be followed here");
  }
  CHECK(session.target_alive());
  session.start();
  child.go();
  std::vector<Event> events;
  REQUIRE(drain_until(session, events, [](const std::vector<Event>& all) {
    return only<ThreadExitEvent>(all).size() == 3;
  }));
  CHECK(only<ThreadStartEvent>(events).size() == 3);
  REQUIRE(drain_until(session, events, [&](const auto&) { return session.processes() == 0; }));
  CHECK(session.target_alive());  // others may come
  // Also of processes that have ended by then it is told what they have executed.
  for (const char* program : {"sh", "sleep"}) {
    const std::string path = canonical_path(std::string("/bin/") + program);
    CHECK(std::count(set->files.begin(), set->files.end(), path) >= 3);
  }
  // `sleep` comes to a core once more at its end, as none of the set.
  const auto ends = only<ThreadExitEvent>(events);
  for (const auto& change : only<SwitchEvent>(events)) {
    const auto end = std::find_if(ends.begin(), ends.end(),
                                  [&](const auto& each) { return each.thread == change.thread; });
    REQUIRE(end != ends.end());
    CHECK(change.time_ns <= end->time_ns);
  }
}

}  // namespace causalctl::perf::test
