// Tests uprobes in all threads of a real process, by each means, and the trials of ways to count.
#include "controller/perf/uprobes.h"

#include <linux/hw_breakpoint.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <system_error>
#include <thread>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/facility.h"
#include "controller/base/procfs.h"
#include "controller/base/tracefs.h"
#include "controller/perf/attrs.h"
#include "controller/perf/event.h"
#include "controller/perf/kept_open.h"
#include "controller/perf/sampled_hits.h"
#include "controller/perf/visit_trial.h"
#include "controller/progress/image.h"
#include "controller/progress/progress.h"
#include "tests/kernel/progress/probed.h"
#include "tests/kernel/progress/probed_child.h"
#include "tests/support/skip.h"

namespace causalctl {

using perf::UprobePlace;
using perf::Uprobes;

namespace {

constexpr unsigned kHits = 40;

std::ptrdiff_t open_links() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return std::count_if(begin(files), end(files), [](const auto& file) {
    std::error_code closed_meanwhile;
    return std::filesystem::read_symlink(file, closed_meanwhile) == "anon_inode:bpf_link";
  });
}

UprobePlace place_of(probed::Child& child, const std::string& function, std::uint32_t tag) {
  unwind::Symbolizer symbolizer(child.pid());
  const auto point = progress::resolve(function, child.pid(), symbolizer);
  const auto place = progress::file_place(child.pid(), point.places.at(0).address);
  REQUIRE(place);
  return {place->readable, place->offset, 0, tag};
}

void counts_in_all_threads(Uprobes::Means means) {
  probed::Child child;
  Uprobes uprobes(child.pid(), means);
  uprobes.add({place_of(child, "probed::function_1", 3), place_of(child, "probed::function_2", 5)});
  child.hit(7);  // before the start, so not counted
  uprobes.start();
  child.start_thread();
  child.hit(kHits);
  child.hit_in_thread(kHits);
  std::vector<perf::UprobeHit> hits;
  CHECK(uprobes.read(hits) == 0);
  for (const std::uint32_t tag : {3U, 5U}) {
    CAPTURE(tag);
    CHECK(uprobes.count(tag) == 2 * kHits);
    std::set<Tid> threads;
    std::size_t records = 0;
    for (const auto& hit : hits) {
      if (hit.tag != tag) continue;
      threads.insert(hit.tid);
      ++records;
    }
    CHECK(records == 2 * kHits);
    CHECK(threads.size() == 2);
    CHECK(threads.contains(child.pid()));
  }
}

}  // namespace

TEST_CASE("A program counts system calls of all threads, and only of their process", "[perf]") {
  std::string problem;
  const auto tracefs = find_tracefs(problem);
  if (!tracefs || !perf::calls_are_counted()) {
    return test::skip_test_case("BPF programs cannot count system calls here");
  }
  const auto id =
      procfs::read_number(tracefs->path + "/events/syscalls/sys_enter_getppid/id").value();
  Uprobes calls(getpid(), Uprobes::Means::none);
  calls.add_call(static_cast<std::uint64_t>(id), 7);
  syscall(SYS_getppid);  // before the start, so not counted
  calls.start();
  std::thread([] {
    for (unsigned i = 0; i < kHits; ++i) syscall(SYS_getppid);
  }).join();
  syscall(SYS_getppid);
  const pid_t other = fork();
  if (other == 0) {
    syscall(SYS_getppid);
    _exit(0);
  }
  REQUIRE(waitpid(other, nullptr, 0) == other);
  std::vector<perf::UprobeHit> hits;
  CHECK(calls.read(hits) == 0);
  CHECK(calls.count(7) == kHits + 1);
  REQUIRE(hits.size() == kHits + 1);
  CHECK(hits.back().tid == gettid());
  CHECK(hits.back().tag == 7);
  CHECK(hits.front().tid != gettid());
}

TEST_CASE("Uprobes report all threads, present and future, by each means", "[perf]") {
  SECTION("one link") { counts_in_all_threads(Uprobes::Means::links); }
  SECTION("an event for each place") { counts_in_all_threads(Uprobes::Means::events); }
}

TEST_CASE("Uprobes may be counted without a record, and closed", "[perf]") {
  const auto means = GENERATE(Uprobes::Means::links, Uprobes::Means::events);
  probed::Child child;
  Uprobes uprobes(child.pid(), means);
  constexpr std::uint32_t counted = Uprobes::kMostTags + 3;
  auto open = uprobes.open({place_of(child, "probed::function_1", counted)});
  uprobes.start();
  child.start_thread();
  child.hit(kHits);
  child.hit_in_thread(kHits);
  CHECK(uprobes.count(counted) == 2 * kHits);
  std::vector<perf::UprobeHit> hits;
  CHECK(uprobes.read(hits) == 0);
  CHECK(hits.empty());
  open.clear();
  child.hit(kHits);
  CHECK(uprobes.count(counted) == 2 * kHits);
}

TEST_CASE("A program copies the stacks of hits, in all threads", "[perf]") {
  const auto means = GENERATE(Uprobes::Means::links, Uprobes::Means::events);
  probed::Child child;
  const UprobePlace place = place_of(child, "probed::function_1", 3);
  Uprobes uprobes(child.pid(), means, {.stack_bytes = 4096});
  uprobes.add({place, place_of(child, "probed::function_2", 5)});
  uprobes.set_use(3, {.copied_every = 1});
  uprobes.start();
  child.start_thread();
  child.hit(kHits);
  child.hit_in_thread(kHits);
  std::vector<perf::SampleEvent> samples;
  uprobes.read_copies(samples);
  REQUIRE(samples.size() == 2 * kHits);  // none of the other function
  std::set<Tid> threads;
  for (const perf::SampleEvent& sample : samples) {
    CHECK((sample.tag == 3 && sample.reason == perf::SampleReason::event));
    threads.insert(sample.thread.tid);
    CHECK(sample.user.registers.size() == 20);
    CHECK(sample.user.registers.at(8) % 4096 == place.offset % 4096);  // the instruction
    CHECK(sample.user.registers.at(7) == sample.stack_pointer);
    CHECK(sample.user.stack.size() >= sizeof(Address));
    CHECK((!sample.callers.empty() && sample.callers[0] == sample.user.registers.at(8)));
  }
  CHECK(threads.size() == 2);
  uprobes.set_use(3, {});
  child.hit(kHits);
  samples.clear();
  uprobes.read_copies(samples);
  CHECK(samples.empty());
}

TEST_CASE("Sampled hits stand for all of them, also where few are sampled", "[perf]") {
  probed::Child child;
  constexpr std::uint32_t kTag = 7;
  constexpr unsigned kMany = 2000;
  perf::EventTemplate event;
  event.place = place_of(child, "probed::function_1", 0);
  std::string reason;
  auto hits = perf::make_sampled_hits(child.pid(), nullptr, {event}, 4096, reason);
  INFO(reason);
  REQUIRE(hits);
  hits->open(kTag, {event});
  child.hit(kHits);  // before the start
  hits->start();
  const auto worth = [&] {
    std::uint64_t sum = 0, samples = 0;
    for (const perf::SampleEvent& sample : hits->read()) {
      CHECK(sample.tag == kTag);
      sum += sample.events;
      ++samples;
    }
    CHECK((samples > 0 && samples < kMany / 2));
    return sum;
  };
  child.hit(kMany);
  CHECK(worth() == kMany);
  CHECK(hits->count(kTag) == kMany);
  CHECK(hits->fresh_of_busiest(kTag) == kMany);
  hits->close(kTag).clear();
  child.hit(kHits);
  CHECK(hits->read().empty());
  hits->open(kTag, {event});
  child.start_thread();
  child.hit(kHits);
  child.hit_in_thread(kMany - kHits);
  CHECK(hits->fresh_of_busiest(kTag) == kMany - kHits);
  CHECK(worth() == kMany);
  CHECK(hits->count(kTag) == 2 * kMany);
  // Where there are more than wanted, fewer are sampled.
  for (int i = 0; i < 4; ++i) {
    hits->adapt(1);
    child.hit(kMany);
    (void)hits->read();
  }
  child.hit(kMany);
  CHECK(hits->read().size() < 20);
  CHECK(hits->count(kTag) == 7 * kMany);
}

TEST_CASE("An event that is opened again and again leaves others alone", "[perf]") {
  if (!perf::page_faults_are_copied()) {
    return test::skip_test_case("BPF programs cannot sample page faults here");
  }
  probed::Child child;
  perf::EventTemplate kept, reopened;
  kept.place = place_of(child, "probed::function_1", 0);
  reopened.attr.type = PERF_TYPE_SOFTWARE;
  reopened.attr.config = PERF_COUNT_SW_PAGE_FAULTS;
  std::string reason;
  auto hits = perf::make_sampled_hits(child.pid(), nullptr, {kept, reopened}, 4096, reason);
  INFO(reason);
  REQUIRE(hits);
  hits->open(0, {kept});
  hits->start();
  for (std::uint32_t i = 0; i < Uprobes::kMostCountedTags - Uprobes::kMostTags + 5; ++i) {
    hits->open(1, {reopened});
    hits->close(1).clear();
  }
  child.hit(kHits);
  std::uint64_t sum = 0;
  for (const perf::SampleEvent& sample : hits->read()) {
    if (sample.tag == 0) sum += sample.events;
  }
  CHECK(hits->count(0) == kHits);
  CHECK(sum == kHits);
}

TEST_CASE("A program samples system calls, their results and page faults of a set", "[perf]") {
  std::string problem;
  const auto tracefs = find_tracefs(problem);
  if (!tracefs || !perf::calls_are_copied() || !perf::page_faults_are_copied()) {
    return test::skip_test_case("BPF programs cannot sample system calls here");
  }
  const auto tracepoint = [&](const std::string& name) {
    perf::EventTemplate event;
    event.attr.type = PERF_TYPE_TRACEPOINT;
    event.attr.config = static_cast<std::uint64_t>(
        procfs::read_number(tracefs->path + "/events/syscalls/" + name + "/id").value());
    return event;
  };
  const perf::EventTemplate call = tracepoint("sys_enter_getpriority");
  perf::EventTemplate result = tracepoint("sys_exit_getpriority");
  result.number_offset = 16;
  perf::EventTemplate fault;
  fault.attr.type = PERF_TYPE_SOFTWARE;
  fault.attr.config = PERF_COUNT_SW_PAGE_FAULTS;
  const long result_here = syscall(SYS_getpriority, PRIO_PROCESS, 0);
  const auto processes = std::make_shared<perf::ProcessBits>();
  std::string reason;
  auto hits = perf::make_sampled_hits(0, processes, {call, result, fault}, 4096, reason);
  INFO(reason);
  REQUIRE(hits);
  hits->open(0, {call});
  hits->open(1, {result});
  hits->open(2, {fault});
  hits->start();
  constexpr std::size_t kPages = 64, kPage = 4096;
  const auto work = [] {
    for (unsigned i = 0; i < kHits; ++i) syscall(SYS_getpriority, PRIO_PROCESS, 0);
    auto* const pages = static_cast<volatile char*>(
        mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (std::size_t i = 0; i < kPages; ++i) pages[i * kPage] = 1;
  };
  // On one core: a core whose ring is full makes no more copies, and those that it has made stand
  // for all of its hits, which with sanitizers are many.
  const auto work_in_child = [&work] {
    std::array<int, 2> begin{};
    REQUIRE(pipe(begin.data()) == 0);
    const pid_t child = fork();
    if (child == 0) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(sched_getcpu(), &one);
      if (sched_setaffinity(0, sizeof one, &one) != 0) _exit(1);
      char byte = 0;
      (void)!read(begin[0], &byte, 1);
      std::thread(work).join();
      _exit(0);
    }
    return std::pair(child, begin);
  };
  const auto [member, begin_member] = work_in_child();
  const auto [stranger, begin_stranger] = work_in_child();
  processes->sample(member);
  for (const int begin : {begin_member[1], begin_stranger[1]}) REQUIRE(write(begin, "b", 1) == 1);
  for (const pid_t child : {member, stranger}) REQUIRE(waitpid(child, nullptr, 0) == child);
  CHECK(hits->count(0) == kHits);
  CHECK(hits->count(1) == kHits);
  CHECK(hits->count(2) >= kPages);
  std::array<std::uint64_t, 3> sums{};
  for (const perf::SampleEvent& sample : hits->read()) {
    sums.at(sample.tag) += sample.events;
    CHECK(sample.thread.tid != stranger);
    CHECK(sample.user.registers.size() == 20);
    // A page of the stack may be missing that the fault is on.
    if (sample.tag != 2) CHECK(sample.user.stack.size() >= sizeof(Address));
    if (sample.tag == 1) CHECK(sample.number == result_here);
  }
  CHECK(sums[0] == kHits);
  CHECK(sums[1] == kHits);
  CHECK(sums[2] == hits->count(2));
}

TEST_CASE("Uprobes of which one cannot be had are none at all", "[perf]") {
  probed::Child child;
  Uprobes uprobes(child.pid(), Uprobes::Means::links);
  auto outside = place_of(child, "probed::function_2", 2);
  outside.offset = std::uint64_t{1} << 40;
  CHECK_THROWS_AS(uprobes.add({place_of(child, "probed::function_1", 1), outside}), Error);
  uprobes.start();
  child.hit(kHits);
  CHECK(uprobes.count(1) == 0);
}

// Where breakpoints never fire, the trial finds that only uprobes work.
TEST_CASE("Trials see every way of counting that works here, and its cost", "[perf]") {
  const auto uprobe = perf::try_uprobes();
  CAPTURE(uprobe.finding);
  REQUIRE(uprobe.is_seen());
  CHECK(uprobe.means == Uprobes::Means::links);
  CHECK(perf::copies_are_seen());
  CHECK(perf::calls_are_copied());
  CHECK(perf::page_faults_are_copied());
  CHECK(uprobe.cost_ns > 100);
  CHECK(uprobe.cost_ns < kMillisecond);
  CHECK(uprobe.emulated_cost_ns > 100);
  CHECK(uprobe.emulated_cost_ns < kMillisecond);
  CHECK_THAT(uprobe.finding,
             Catch::Matchers::Matches("150 of 150 hits counted, [0-9.]+ µs each; [0-9.]+ µs where "
                                      "the kernel emulates the instruction"));
  const auto breakpoint = perf::try_breakpoint();
  if (breakpoint.is_seen()) {
    CHECK(breakpoint.cost_ns > 100);
    CHECK_THAT(breakpoint.finding,
               Catch::Matchers::Matches("150 of 150 hits counted, [0-9.]+ µs each"));
    CHECK(perf::free_debug_registers() == 4);
  } else {
    CHECK(breakpoint.cost_ns == 0);
    CHECK(!breakpoint.finding.empty());
  }
}

// Opening one waits, in the kernel, for others that are being closed.
TEST_CASE("The uprobes of a trial stay open until others are", "[perf]") {
  const auto come_to = [](std::ptrdiff_t links) {  // they are closed by a thread of their own
    Patience patience(10 * kSecond);
    while (open_links() > links && !patience.over()) sleep_until(monotonic_now() + kMillisecond);
    return open_links() == links;
  };
  perf::close_kept();
  REQUIRE(come_to(0));
  REQUIRE(perf::try_uprobes().is_seen());
  probed::Child child;
  Uprobes uprobes(child.pid(), Uprobes::Means::links);
  uprobes.add({place_of(child, "probed::function_1", 1)});
  CHECK(open_links() == 2);
  perf::close_kept();
  CHECK(come_to(1));
}

TEST_CASE("Breakpoints are refused where others have all registers", "[perf]") {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_BREAKPOINT;
  attr.bp_type = HW_BREAKPOINT_X;
  attr.bp_addr = reinterpret_cast<Address>(&kHits);
  attr.bp_len = sizeof(long);
  std::vector<perf::EventFd> others;
  for (int free = perf::free_debug_registers(); free > 0; --free) {
    auto event = perf::EventFd::open(perf::visit_attr(attr), 0, "breakpoint of somebody else");
    REQUIRE(event);
    others.push_back(std::move(*event));
  }
  CHECK(perf::free_debug_registers() == 0);
  const auto trial = perf::try_breakpoint();
  CHECK(trial.facility == Facility::breakpoint);
  CHECK(trial.outcome == Outcome::refused);
  CHECK(!trial.finding.empty());
}

TEST_CASE("What never fires is seen by its trial", "[perf]") {
  setenv("CAUSALCTL_PRETEND_BROKEN", "breakpoint,uprobe", 1);
  const auto breakpoint = perf::try_breakpoint();
  const auto uprobe = perf::try_uprobes();
  unsetenv("CAUSALCTL_PRETEND_BROKEN");
  CHECK(breakpoint.outcome == Outcome::never_fired);
  CHECK(breakpoint.finding == "opened, but never fired");
  CHECK(uprobe.outcome == Outcome::never_fired);
  CHECK(!uprobe.means);
  CHECK(uprobe.finding == "opened, but never fired");
}

TEST_CASE("Without BPF uprobes are counted by events", "[perf]") {
  setenv("CAUSALCTL_PRETEND_BROKEN", "bpf", 1);
  const auto uprobe = perf::try_uprobes();
  unsetenv("CAUSALCTL_PRETEND_BROKEN");
  CHECK(uprobe.is_seen());
  CHECK(!uprobe.means);
}

}  // namespace causalctl
