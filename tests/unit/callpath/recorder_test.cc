#include "controller/callpath/engine/recorder.h"

#include <catch2/catch.hpp>
#include <random>

#include "controller/callpath/record/calls_seen.h"
#include "controller/callpath/record/limits.h"
#include "tests/unit/callpath/threads.h"

namespace causalctl {

using callpath::Grouping;
using callpath::Metric;
using callpath::NodeId;
using callpath::Recorder;
using callpath::Recording;
using callpath::test::kOne;
using callpath::test::kTwo;

namespace {

// A location is the address itself, plus 1000 of a call.
struct RecorderFixture {
  explicit RecorderFixture(Grouping grouping)
      : recorder(
            {[this](const perf::SampleEvent& sample) -> const unwind::Chain& {
               chain = {};
               for (const Address address : sample.callers) {
                 const Address cfa = stack == 0 ? 0 : stack + 16 * (chain.frames.size() + 1);
                 chain.frames.push_back(
                     {address, cfa, chain.frames.empty() ? unwind::FrameHow::instruction : how});
               }
               chain.end = end;
               return chain;
             },
             [](Pid, Address address, bool is_call) {
               return static_cast<callpath::LocationId>(address + (is_call ? 1000 : 0));
             },
             [](Pid, Tid thread) { return "name" + std::to_string(thread); },
             [](const perf::SampleEvent& sample) { return sample.events * 10; },
             [this](const char* name) {
               outside.emplace_back(name);
               return static_cast<callpath::LocationId>(5000 + outside.size());
             },
             [this](const perf::SampleEvent& sample) {
               kernel_part.assign(sample.kernel.rbegin(), sample.kernel.rend());
               return std::span<const callpath::LocationId>(kernel_part);
             }},
            grouping, true, with_epoch(recording)) {
    recorder.take(perf::ThreadStartEvent{kOne, {}, 0, false});
    recorder.take(perf::ThreadStartEvent{kTwo, {}, 0, false});
  }

  static Recording& with_epoch(Recording& recording) {
    recording.epochs.push_back({0, "start"});
    return recording;
  }
  void sample(ThreadId thread, std::vector<Address> chain, Nanoseconds worth,
              Nanoseconds time_ns = 0) {
    perf::SampleEvent event;
    event.time_ns = time_ns;
    event.thread = thread;
    event.callers = std::move(chain);
    event.period_ns = worth;
    event.stack_pointer = stack;
    event.user.stack.resize(256);
    if (worth == 0) event.reason = perf::SampleReason::leaving;
    recorder.take(event);
  }
  std::uint64_t value(Metric metric, std::vector<callpath::LocationId> path,
                      std::uint32_t group = 0, std::uint32_t epoch = 0) {
    const auto slice = recording.slices.find({epoch, group, metric});
    if (slice == recording.slices.end()) return 0;
    const auto cell = slice->second.find(recording.tree.path(path));
    return cell == slice->second.end() ? 0 : cell->second;
  }

  Recording recording;
  unwind::Chain chain;
  Address stack = 0;  // where frames begin; 0: not known
  std::vector<std::string> outside;
  std::vector<callpath::LocationId> kernel_part;
  unwind::ChainEnd end = unwind::ChainEnd::outermost;
  unwind::FrameHow how = unwind::FrameHow::table;  // of callers
  Recorder recorder;
};

}  // namespace

TEST_CASE("the kernel's part of a path is below that of the user code", "[callpath]") {
  RecorderFixture fixture(Grouping::all);
  perf::SampleEvent sample;
  sample.thread = kOne;
  sample.callers = {1, 2};
  sample.kernel = {4001, 4002};  // innermost first
  sample.period_ns = 900;
  fixture.recorder.take(sample);
  sample.reason = perf::SampleReason::leaving;
  sample.kernel = {4003};
  fixture.recorder.take(sample);
  fixture.recorder.take(perf::SwitchEvent{kOne, 1000, 0, perf::SwitchKind::out_blocked});
  fixture.recorder.take(perf::SwitchEvent{kOne, 3000, 0, perf::SwitchKind::in});
  fixture.recorder.settle(3000, true);
  CHECK(fixture.value(Metric::samples, {1002, 1, 4002, 4001}) == 1);
  CHECK(fixture.value(Metric::samples, {1002, 1}) == 0);
  CHECK(fixture.value(Metric::blocked_ns, {1002, 1, 4003}) == 2000);
  CHECK(fixture.recording.chains.complete == 2);
}

TEST_CASE("a sample's time is its path's, outermost call first", "[callpath]") {
  RecorderFixture fixture(Grouping::all);
  fixture.sample(kOne, {1, 2, 3}, 900);
  fixture.sample(kTwo, {1, 2, 3}, 1100);
  fixture.recorder.settle(0);
  CHECK(fixture.value(Metric::cpu_ns, {1003, 1002, 1}) == 2000);
  CHECK(fixture.value(Metric::samples, {1003, 1002, 1}) == 2);
  CHECK(fixture.recording.chains.complete == 2);
  fixture.end = unwind::ChainEnd::copy_short;
  fixture.sample(kTwo, {1}, 1100);
  CHECK(fixture.recording.chains.incomplete == 1);
  CHECK(fixture.recording.chains.copy_short == 1);
  CHECK(fixture.recording.chains.searched == 0);
}

TEST_CASE("a thread's time on a core is divided like its samples", "[callpath]") {
  RecorderFixture fixture(Grouping::all);
  const auto switched = [&](Nanoseconds time_ns, perf::SwitchKind kind) {
    fixture.recorder.take(perf::SwitchEvent{kOne, time_ns, 0, kind});
  };
  fixture.recorder.start(1000);
  fixture.sample(kOne, {1}, 300, 500);  // before the start
  fixture.sample(kOne, {1}, 300, 1400);
  fixture.sample(kOne, {2}, 100, 1700);
  switched(2000, perf::SwitchKind::out_blocked);
  switched(2500, perf::SwitchKind::in);
  fixture.recorder.settle(2500);
  CHECK(fixture.value(Metric::samples, {1}) == 1);
  CHECK(fixture.value(Metric::cpu_ns, {1}) == 750);
  CHECK(fixture.value(Metric::cpu_ns, {2}) == 250);
  // What it runs without a sample counts with the next one.
  fixture.recorder.settle(2600);
  CHECK(fixture.value(Metric::cpu_ns, {1}) == 750);
  fixture.sample(kOne, {1}, 300, 2650);
  fixture.recorder.settle(2700);
  CHECK(fixture.value(Metric::cpu_ns, {1}) == 750 + 150);
  // If none comes, it counts with the next samples of the group.
  switched(2720, perf::SwitchKind::out_blocked);
  fixture.recorder.take(perf::ThreadExitEvent{kOne, 2800});
  fixture.recorder.settle(2800);
  CHECK(fixture.value(Metric::cpu_ns, {1}) == 900);
  // A thread of which a sample comes runs, though no record said so.
  switched(2900, perf::SwitchKind::out_blocked);
  fixture.recorder.take(perf::SwitchEvent{kTwo, 2900, 0, perf::SwitchKind::out_blocked});
  fixture.sample(kTwo, {2}, 100, 2950);
  fixture.recorder.settle(3000, true);
  CHECK(fixture.value(Metric::blocked_ns, {}) == 500 + 80 + 50);
  CHECK(fixture.value(Metric::cpu_ns, {2}) == 250 + 1900 + 50 + 70);
}

TEST_CASE("CPU time of before an exec is the old program's", "[callpath]") {
  RecorderFixture fixture(Grouping::all);
  fixture.recorder.take(perf::SwitchEvent{kTwo, 0, 0, perf::SwitchKind::out_blocked});
  fixture.sample(kOne, {1}, 1000, 1000);
  fixture.recorder.settle(1000);
  fixture.recorder.take(perf::ExecEvent{kOne, 1400});
  fixture.sample(kOne, {2}, 1000, 2000);
  fixture.recorder.settle(2000, true);
  CHECK(fixture.value(Metric::cpu_ns, {1}) == 1400);
  CHECK(fixture.value(Metric::cpu_ns, {2}) == 600);
}

TEST_CASE("a child that executes a program unseen leaves nothing with its parent's",
          "[callpath][set]") {
  RecorderFixture fixture(Grouping::all);
  callpath::ProcessList list(fixture.recording);
  const auto execute = [&](ThreadId thread, bool is_sampled) {
    const auto child = list.began(thread.tid, "sh", true);
    fixture.recorder.belongs(thread, child);
    fixture.recorder.take(perf::ThreadStartEvent{thread, {}, 1000, false, false, thread.tid});
    fixture.recorder.take(perf::SwitchEvent{thread, 1100, 0, perf::SwitchKind::out_preempted});
    fixture.recorder.take(perf::SwitchEvent{thread, 1150, 0, perf::SwitchKind::in});
    if (is_sampled) fixture.sample(thread, {7}, 100, 1200);
    fixture.recorder.take(perf::ExecEvent{thread, 1300, thread.tid});
    fixture.recorder.take(perf::NameEvent{thread, 1300, "gcc"});
    fixture.recorder.belongs(thread, list.executed(child, "gcc"));
    fixture.sample(thread, {8}, 1000, 2300);
    fixture.recorder.take(perf::ThreadExitEvent{thread, 2300});
  };
  execute({300, 300}, false);
  fixture.recorder.settle(2400);
  REQUIRE(fixture.recording.processes.size() == 1);
  CHECK(fixture.recording.processes[0].program == "gcc");
  REQUIRE(fixture.recording.groups.size() == 1);
  CHECK(fixture.value(Metric::cpu_ns, {8}) == 1250);
  CHECK(fixture.value(Metric::runnable_ns, {}) == 50);
  execute({301, 301}, true);
  fixture.recorder.settle(2400);
  REQUIRE(fixture.recording.processes.size() == 3);
  CHECK(fixture.recording.processes[1].program == "sh");
  CHECK(fixture.recording.processes[2].program == "gcc");
  CHECK(fixture.value(Metric::cpu_ns, {7}, 1) > 0);
}

TEST_CASE("CPU time of before the first switch is counted once", "[callpath]") {
  RecorderFixture fixture(Grouping::all);
  for (Nanoseconds time_ns = 1000; time_ns <= 5000; time_ns += 1000) {
    fixture.sample(kOne, {1}, 1000, time_ns);
    fixture.recorder.settle(time_ns);
  }
  CHECK(fixture.value(Metric::cpu_ns, {1}) == 5000);
  fixture.recorder.take(perf::SwitchEvent{kOne, 5500, 0, perf::SwitchKind::out_blocked});
  fixture.sample(kOne, {1}, 1000, 6000);
  fixture.recorder.settle(6000, true);
  CHECK(fixture.value(Metric::cpu_ns, {1}) == 5500);
}

TEST_CASE("CPU time of threads that end without a sample is their group's", "[callpath]") {
  RecorderFixture fixture(Grouping::all);
  for (Tid tid = 200; tid < 210; ++tid) {
    const ThreadId brief{tid, static_cast<std::uint32_t>(tid)};
    fixture.recorder.take(perf::ThreadStartEvent{brief, {}, 1000, false});
    fixture.recorder.take(perf::SwitchEvent{brief, 1300, 0, perf::SwitchKind::out_blocked});
    if (tid == 205) fixture.sample(brief, {7}, 1000, 1200);
    fixture.recorder.take(perf::ThreadExitEvent{brief, 1400});
  }
  fixture.recorder.settle(2000);
  CHECK(fixture.value(Metric::cpu_ns, {7}) == 10 * 300);
  const ThreadId last{210, 210};
  fixture.recorder.take(perf::ThreadStartEvent{last, {}, 2000, false});
  fixture.recorder.take(perf::SwitchEvent{last, 2100, 0, perf::SwitchKind::out_blocked});
  fixture.recorder.settle(3000, true);
  CHECK(fixture.value(Metric::cpu_ns, {7}) == 10 * 300 + 100);
  CHECK(fixture.value(Metric::cpu_ns, {}) == 0);
}

TEST_CASE("a complete chain with a caller that was searched for is told", "[callpath]") {
  RecorderFixture fixture(Grouping::all);
  fixture.how = unwind::FrameHow::guess;
  fixture.sample(kOne, {1, 2, 3}, 900);
  fixture.end = unwind::ChainEnd::no_table;
  fixture.sample(kOne, {1, 2, 3}, 900);
  CHECK(fixture.recording.chains.complete == 1);
  CHECK(fixture.recording.chains.searched == 1);
}

TEST_CASE("a call is counted once, and anew in another program", "[callpath]") {
  RecorderFixture fixture(Grouping::all);
  fixture.stack = 0x7000;
  fixture.sample(kOne, {1, 2, 3}, 1000);
  fixture.sample(kOne, {1, 2, 3}, 1000);
  Recording so_far = fixture.recording;
  REQUIRE(callpath::sum_calls(so_far));
  CHECK(so_far.slices[{0, 0, Metric::new_min}] == callpath::Slice{{1, 1}, {2, 1}, {3, 1}});
  CHECK(so_far.slices[{0, 0, Metric::new_max}] == callpath::Slice{{1, 2}, {2, 2}, {3, 2}});
  fixture.recorder.take(perf::ExecEvent{kOne, 10});
  fixture.sample(kOne, {1, 2, 3}, 1000);
  REQUIRE(callpath::sum_calls(fixture.recording));
  CHECK(fixture.value(Metric::new_min, {1003, 1002, 1}) == 2);
  CHECK(fixture.value(Metric::new_max, {1003, 1002, 1}) == 3);
}

TEST_CASE("a wait is its path's, and one that goes on is counted when it is settled",
          "[callpath]") {
  RecorderFixture fixture(Grouping::all);
  fixture.sample(kOne, {1, 2}, 0);
  fixture.recorder.take(perf::SwitchEvent{kOne, 100, 0, perf::SwitchKind::out_blocked});
  fixture.recorder.settle(1100);
  CHECK(fixture.value(Metric::blocked_ns, {1002, 1}) == 1000);
  CHECK(fixture.value(Metric::waits, {1002, 1}) == 0);
  fixture.recorder.take(perf::WakeEvent{kTwo, kOne.tid, 1200});
  fixture.recorder.take(perf::SwitchEvent{kOne, 1250, 0, perf::SwitchKind::in});
  fixture.recorder.settle(2000);
  CHECK(fixture.value(Metric::blocked_ns, {1002, 1}) == 1100);
  CHECK(fixture.value(Metric::runnable_ns, {1002, 1}) == 50);
  CHECK(fixture.value(Metric::waits, {1002, 1}) == 1);
  CHECK(fixture.value(Metric::cpu_ns, {1002, 1}) == 0);
}

TEST_CASE("waits that were not sampled are like the thread's others", "[callpath]") {
  RecorderFixture fixture(Grouping::all);
  for (Nanoseconds time = 0; time < 4000; time += 1000) {
    if (time == 0) fixture.sample(kOne, {1, 2}, 0);
    fixture.recorder.take(perf::SwitchEvent{kOne, time, 0, perf::SwitchKind::out_blocked});
    fixture.recorder.take(perf::SwitchEvent{kOne, time + 500, 0, perf::SwitchKind::in});
  }
  fixture.recorder.settle(4000);
  CHECK(fixture.value(Metric::blocked_ns, {1002, 1}) == 2000);
  CHECK(fixture.value(Metric::waits, {1002, 1}) == 4);
}

TEST_CASE("a thread that was blocked from the beginning has the path of its stack", "[callpath]") {
  RecorderFixture fixture(Grouping::all);
  constexpr ThreadId kParked{102, 3};
  fixture.recorder.take(perf::ThreadStartEvent{kParked, {}, 0, true});
  unwind::Chain chain;
  chain.frames = {{1, 0, unwind::FrameHow::instruction}, {2, 0, unwind::FrameHow::table}};
  chain.end = unwind::ChainEnd::outermost;
  fixture.recorder.stands_on(kParked, chain, 100);
  fixture.recorder.settle(4000);
  CHECK(fixture.value(Metric::blocked_ns, {1002, 1}) == 4000);
  CHECK(fixture.recording.chains.complete == 0);  // it is no sample
}

TEST_CASE("what a thread waits before its stack is read is kept for its path", "[callpath]") {
  RecorderFixture fixture(Grouping::all);
  constexpr ThreadId kParked{102, 3};
  fixture.recorder.take(perf::ThreadStartEvent{kParked, {}, 0, true});
  fixture.recorder.settle(4000);
  unwind::Chain chain;
  chain.frames = {{1, 0, unwind::FrameHow::instruction}, {2, 0, unwind::FrameHow::table}};
  chain.end = unwind::ChainEnd::outermost;
  if (GENERATE(true, false)) {
    fixture.recorder.stands_on(kParked, chain, 5000);
    fixture.recorder.settle(6000);
    CHECK(fixture.value(Metric::blocked_ns, {1002, 1}) == 6000);
  } else {
    fixture.recorder.settle(6000, true);
    CHECK(fixture.value(Metric::blocked_ns, {}) == 6000);
  }
}

TEST_CASE("threads are grouped by the name that they have", "[callpath]") {
  RecorderFixture fixture(Grouping::by_name);
  fixture.sample(kOne, {1}, 10);
  fixture.recorder.take(perf::NameEvent{kOne, 5, "worker"});
  fixture.recorder.take(perf::NameEvent{kTwo, 5, "worker"});
  fixture.sample(kOne, {1}, 10);
  fixture.sample(kTwo, {1}, 10);
  fixture.recorder.settle(0);
  REQUIRE(fixture.recording.groups.size() == 2);
  CHECK(fixture.recording.groups[0].name == "name100");
  CHECK(fixture.recording.groups[1].name == "worker");
  CHECK(fixture.value(Metric::cpu_ns, {1}, 0) == 10);
  CHECK(fixture.value(Metric::cpu_ns, {1}, 1) == 20);
}

TEST_CASE("an event's values are summed by path, and never beyond what a log holds", "[callpath]") {
  RecorderFixture fixture(Grouping::all);
  fixture.recording.events = {{"a", "calls", "A"}, {"b", "calls", "B"}};
  perf::SampleEvent event;
  event.thread = kOne;
  event.callers = {1, 2};
  event.reason = perf::SampleReason::event;
  event.tag = 1;
  event.events = 7;
  fixture.recorder.take(event);
  fixture.recorder.take(event);
  CHECK(fixture.value(callpath::metric_of_event(1), {1002, 1}) == 140);
  CHECK(fixture.value(Metric::samples, {1002, 1}) == 0);
  CHECK_FALSE(fixture.recorder.has_seen(0));
  fixture.recorder.start(1000);
  fixture.recorder.take(event);  // of before the start
  CHECK(fixture.value(callpath::metric_of_event(1), {1002, 1}) == 140);
  event.time_ns = 1000;
  event.events = UINT64_MAX / 10;
  for (int i = 0; i < 5; ++i) fixture.recorder.take(event);
  CHECK(fixture.recorder.has_seen(1));
  CHECK(fixture.value(callpath::metric_of_event(1), {1002, 1}) == 1ULL << 60U);
}

TEST_CASE("wakers without a path are told of a set in its own words", "[callpath]") {
  RecorderFixture fixture(Grouping::all);
  fixture.recording.set = "--match x";
  fixture.recorder.record_wakers();
  CHECK(fixture.outside ==
        std::vector<std::string>{"[outside: timer, device or a process that is not recorded]",
                                 "[interrupt]", "[a thread of the recorded processes, not sampled]",
                                 "[nobody: the wait goes on]"});
}

TEST_CASE("a wait has the path that ended it, and one that lasted long has it whole",
          "[callpath]") {
  RecorderFixture fixture(Grouping::all);
  fixture.recorder.record_wakers();
  REQUIRE(fixture.outside.size() == 4);
  const auto wait = [&](Nanoseconds time_ns, bool woken) {
    fixture.sample(kOne, {1, 2}, 0);
    fixture.recorder.take(perf::SwitchEvent{kOne, time_ns, 0, perf::SwitchKind::out_blocked});
    fixture.recorder.settle(time_ns + 50);
    if (woken) {
      perf::SampleEvent waking;
      waking.thread = kTwo;
      waking.callers = {3, 4};
      waking.reason = perf::SampleReason::waking;
      waking.woken = kOne.tid;
      fixture.recorder.take(waking);
      fixture.recorder.take(perf::WakeEvent{kTwo, kOne.tid, time_ns + 100});
    }
    fixture.recorder.take(perf::SwitchEvent{kOne, time_ns + 120, 0, perf::SwitchKind::in});
  };
  wait(0, true);
  wait(1000, false);
  fixture.recorder.settle(2000);
  auto& tree = fixture.recording.tree;
  const auto node = [&](std::vector<callpath::LocationId> path) { return tree.path(path); };
  CHECK(fixture.recording.wakers.at(0) ==
        callpath::WakerSums{{{node({1002, 1}), node({1004, 3})}, 100},
                            {{node({1002, 1}), node({5001})}, 120}});
  fixture.recorder.take(perf::SwitchEvent{kOne, 3000, 0, perf::SwitchKind::out_blocked});
  fixture.recorder.settle(3300, true);
  std::uint64_t going_on = 0;
  for (const auto& [pair, value] : fixture.recording.wakers.at(0)) {
    if (pair.second == node({5004})) going_on += value;
  }
  CHECK(going_on == 300);
}

TEST_CASE("an epoch ends what came before it", "[callpath]") {
  RecorderFixture fixture(Grouping::all);
  fixture.sample(kOne, {1}, 10, 400);
  fixture.sample(kTwo, {1, 2}, 0);
  fixture.recorder.take(perf::SwitchEvent{kTwo, 100, 0, perf::SwitchKind::out_blocked});
  fixture.recorder.begin_epoch(500, "time", 500);
  fixture.sample(kOne, {1}, 30, 600);
  fixture.recorder.settle(700);
  CHECK(fixture.value(Metric::cpu_ns, {1}, 0, 0) == 400);
  CHECK(fixture.value(Metric::cpu_ns, {1}, 0, 1) == 200);
  CHECK(fixture.value(Metric::blocked_ns, {1002, 1}, 0, 0) == 400);
  CHECK(fixture.value(Metric::blocked_ns, {1002, 1}, 0, 1) == 200);
}

TEST_CASE("of a deep chain the outermost and the innermost frames are kept", "[callpath]") {
  RecorderFixture fixture(Grouping::all);
  std::vector<Address> chain(5000, 7);
  chain.front() = 1;
  chain.back() = 2;
  fixture.sample(kOne, chain, 1000);
  CHECK(fixture.outside == std::vector<std::string>{"[2048 to 4095 frames]"});
  CHECK(fixture.recording.tree.size() == 1 + 1024 + 1);
  std::vector<callpath::LocationId> path(1024 + 1, 1007);
  path.front() = 1002;
  path[256] = 5001;
  path.back() = 1;
  CHECK(fixture.value(Metric::samples, path) == 1);
  // Other depths have the same path.
  chain.insert(chain.begin() + 2000, 10, 7);
  fixture.sample(kOne, chain, 1000);
  CHECK(fixture.outside.back() == fixture.outside.front());
}

TEST_CASE("deep recursion that never takes the same way twice does not fill the tree",
          "[callpath]") {
  constexpr std::size_t kChains = 1500;
  RecorderFixture fixture(Grouping::all);
  std::mt19937 random(3);
  std::vector<Address> chain(3000);
  for (std::size_t i = 0; i < kChains; ++i) {
    for (Address& address : chain) address = 1 + random() % 4;
    fixture.sample(kOne, chain, 1000);
  }
  CHECK(fixture.recording.account.paths_cut == 0);
  CHECK(fixture.recording.tree.size() < callpath::kMostNodes / 4 + 1025 + kChains * 129);
}

TEST_CASE("threads that have ended leave nothing behind in the groups", "[callpath]") {
  RecorderFixture fixture(Grouping::by_name);
  fixture.sample(kOne, {1}, 100);
  const std::size_t groups = fixture.recording.groups.size();
  fixture.recorder.take(perf::ThreadExitEvent{kOne, 200});
  fixture.recorder.take(perf::ThreadStartEvent{{kOne.tid, 9}, {}, 300, false});
  fixture.sample({kOne.tid, 9}, {1}, 100, 400);
  CHECK(fixture.recording.groups.size() == groups);
}

}  // namespace causalctl
