// Tests what a session reports about a process with known behaviour: samples, switches, wake edges
// and visits.
#include <linux/hw_breakpoint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "controller/base/clock.h"
#include "controller/symbols/kernel_symbols.h"
#include "tests/kernel/perf/child.h"
#include "tests/support/skip.h"

namespace causalctl::perf::test {

namespace {

[[gnu::noinline]] void breakpoint_here() { asm volatile("nop" ::: "memory"); }

bool ended(const std::vector<Event>& events) { return !only<ThreadExitEvent>(events).empty(); }

Nanoseconds sampled_time(const std::vector<SampleEvent>& samples) {
  Nanoseconds sum = 0;
  for (const auto& sample : samples) sum += sample.period_ns;
  return sum;
}

bool time_ordered(const std::vector<Event>& events) {
  return std::is_sorted(events.begin(), events.end(), [](const Event& left, const Event& right) {
    return time_of(left) < time_of(right);
  });
}

// Counts how often `blocked` blocked and ran again before `end_ns`, and how often a wake-up by
// `waker` lay between.
struct Wakes {
  int blocks = 0;
  int explained = 0;
};

Wakes wakes_between(const std::vector<Event>& events, ThreadId waker, ThreadId blocked,
                    Nanoseconds end_ns) {
  Wakes result;
  bool asleep = false, woken = false;
  for (const auto& event : events) {
    if (time_of(event) >= end_ns) break;
    if (const auto* wake = std::get_if<WakeEvent>(&event)) {
      woken |=
          wake->waker == waker && wake->woken == blocked.tid && wake->context == WakeContext::task;
    }
    const auto* change = std::get_if<SwitchEvent>(&event);
    if (change == nullptr || change->thread != blocked) continue;
    if (change->kind == SwitchKind::out_blocked) {
      asleep = true;
      woken = false;
    } else if (change->kind == SwitchKind::in && asleep) {
      ++result.blocks;
      result.explained += woken;
      asleep = false;
    }
  }
  return result;
}

}  // namespace

TEST_CASE("Samples stand for the CPU time of a busy process, in the kernel too", "[perf]") {
  if (!perf_is_allowed()) return;
  const Nanoseconds period = GENERATE(as<Nanoseconds>{}, kMillisecond, 300 * kMicrosecond);
  const bool in_kernel = GENERATE(false, true);
  Child child([=] {
    // A host that stalls moves the clock at once, and no sample stands for such a step, so it is
    // not counted. (With a sanitizer a step takes a tenth of a millisecond at most.)
    Nanoseconds left_ns = 300 * kMillisecond;
    for (Nanoseconds last_ns = process_cpu_now(); left_ns > 0;) {
      if (!in_kernel) {
        for (volatile int i = 0; i < 10'000;) i = i + 1;
      }
      for (int i = 0; in_kernel && i < 100; ++i) syscall(SYS_getppid);
      const Nanoseconds now_ns = process_cpu_now();
      left_ns -= std::min(now_ns - last_ns, kMillisecond);
      last_ns = now_ns;
    }
  });
  Session session(child.pid(), {.period_ns = period});
  session.start();
  child.go();
  std::vector<Event> events;
  REQUIRE(drain_until(session, events, ended));
  const auto samples = only<SampleEvent>(events);
  REQUIRE(sampled_time(samples) > 250 * kMillisecond);
  REQUIRE(sampled_time(samples) < 350 * kMillisecond);
  const auto expected = static_cast<double>(300 * kMillisecond) / static_cast<double>(period);
  REQUIRE(static_cast<double>(samples.size()) > expected / 1.6);
  REQUIRE(static_cast<double>(samples.size()) < expected * 1.6);
  const auto kernel_samples = std::count_if(samples.begin(), samples.end(),
                                            [](const auto& sample) { return sample.in_kernel; });
  if (in_kernel) REQUIRE(kernel_samples > static_cast<long>(samples.size()) / 10);
  for (const auto& sample : samples) {
    REQUIRE_FALSE(sample.callers.empty());
    REQUIRE(sample.callers[0] < 0x8000'0000'0000U);  // never a kernel address or a marker
    REQUIRE(sample.thread.tid == child.pid());
  }
  REQUIRE(time_ordered(events));
  REQUIRE(session.losses().records_lost == 0);
}

TEST_CASE("A changed period is what samples stand for", "[perf]") {
  if (!perf_is_allowed()) return;
  Child child([] { spin_for(10 * kSecond); });
  Session session(child.pid(), {});
  session.start();
  child.go();
  std::vector<Event> events;
  const auto samples_come = [&](std::size_t wanted) {
    events.clear();
    return drain_until(session, events,
                       [=](const auto& all) { return only<SampleEvent>(all).size() >= wanted; });
  };
  REQUIRE(samples_come(10));
  session.set_period(4 * kMillisecond);
  REQUIRE(samples_come(50));
  auto samples = only<SampleEvent>(events);
  samples.erase(samples.begin(), samples.begin() + 3);
  // This holds on average: a sample that comes late because the machine stalled is followed by an
  // early one.
  REQUIRE(sampled_time(samples) > std::ssize(samples) * 2900 * kMicrosecond);
  for (const auto& sample : samples) REQUIRE(sample.period_ns < 8 * kMillisecond + 1);
  session.enable_sampling(false);
  sleep_until(monotonic_now() + kMillisecond);  // the latest samples are held back for a moment
  events.clear();
  drain_until(session, events, [](const auto&) { return true; });
  events.clear();
  drain_until(
      session, events, [](const auto&) { return false; }, 50 * kMillisecond);
  REQUIRE(only<SampleEvent>(events).empty());
  session.enable_sampling(true);
  REQUIRE(samples_come(5));
}

TEST_CASE("Copied stacks begin at the stack pointer", "[perf]") {
  if (!perf_is_allowed()) return;
  Child child([] { spin_for(10 * kSecond); });
  Session session(child.pid(), {.call_chain_depth = 0});
  session.start();
  child.go();
  std::vector<Event> events;
  const auto five = [](const auto& all) { return only<SampleEvent>(all).size() >= 5; };
  REQUIRE(drain_until(session, events, five));
  for (const auto& sample : only<SampleEvent>(events)) {
    REQUIRE(sample.callers.size() == 1);
    REQUIRE(sample.user.registers.empty());
  }
  session.set_stack_bytes(1024);
  events.clear();
  drain_until(session, events, [](const auto&) { return true; });
  events.clear();
  REQUIRE(drain_until(session, events, five));
  for (const auto& sample : only<SampleEvent>(events)) {
    REQUIRE(sample.user.registers.size() == 20);
    REQUIRE(sample.user.registers[8] == sample.callers[0]);  // PERF_REG_X86_IP
    REQUIRE(sample.user.stack.size() == 1024);
    REQUIRE(sample.user.truncated);
  }
  REQUIRE(session.losses().stacks_copied_in_part > 0);
  session.set_stack_bytes(0);
  events.clear();
  drain_until(session, events, [](const auto&) { return true; });
  events.clear();
  REQUIRE(drain_until(session, events, five));
  REQUIRE(only<SampleEvent>(events)[4].user.registers.empty());
}

TEST_CASE("Switches in and out alternate, and a sleeper is blocked, not preempted", "[perf]") {
  if (!perf_is_allowed()) return;
  Child child([] {
    const timespec one_ms{0, kMillisecond};  // relative, so it cannot be over before it begins
    for (int i = 0; i < 20; ++i) nanosleep(&one_ms, nullptr);
  });
  Session session(child.pid(), either_way());
  session.start();
  child.go();
  std::vector<Event> events;
  REQUIRE(drain_until(session, events, ended));
  const auto switches = only<SwitchEvent>(events);
  const bool by_bpf = session.scheduler_trial() && session.scheduler_trial()->is_seen();
  for (std::size_t i = 1; i < switches.size(); ++i) {
    CAPTURE(by_bpf, session.losses().records_lost, i, switches.size(), switches[i].cpu,
            switches[i].time_ns - switches[i - 1].time_ns);
    REQUIRE((switches[i].kind == SwitchKind::in) != (switches[i - 1].kind == SwitchKind::in));
  }
  const auto blocked = std::count_if(switches.begin(), switches.end(), [](const auto& each) {
    return each.kind == SwitchKind::out_blocked;
  });
  REQUIRE(blocked >= 20);
  REQUIRE(blocked <= 25);
  // A timer woke it, so any edge that there is was not made by a thread.
  if (!session.limits().wake_edges) {
    WARN("no wake edges: " << session.limits().reasons[0]);
    return;
  }
  for (const auto& wake : only<WakeEvent>(events)) {
    if (wake.woken == child.pid()) REQUIRE(wake.context != WakeContext::task);
  }
}

TEST_CASE("A sample of a thread that leaves its core comes before the switch", "[perf]") {
  if (!perf_is_allowed()) return;
  Child child([] {
    const timespec one_ms{0, kMillisecond};
    for (int i = 0; i < 200; ++i) nanosleep(&one_ms, nullptr);
  });
  Session session(child.pid(), either_way({.stack_bytes = 1024, .leaving = true}));
  session.start();
  child.go();
  std::vector<Event> events;
  REQUIRE(drain_until(session, events, ended));
  int leaving = 0;
  bool is_next = false;  // the switch that belongs to a sample
  for (const Event& event : events) {
    const auto* sample = std::get_if<SampleEvent>(&event);
    if (sample != nullptr && sample->reason == SampleReason::leaving) {
      CHECK_FALSE(is_next);
      is_next = true;
      ++leaving;
    }
    const auto* change = std::get_if<SwitchEvent>(&event);
    if (change != nullptr && std::exchange(is_next, false)) CHECK(change->kind != SwitchKind::in);
  }
  CHECK(leaving >= 200 / 16);
}

TEST_CASE("Samples have the kernel's part of the path if it is wanted", "[perf]") {
  if (!perf_is_allowed()) return;
  const auto symbols = symbols::read_kernel_symbols();
  if (symbols.empty())
    return causalctl::test::skip_test_case("the kernel hides its functions (kernel.kptr_restrict)");
  Child child([] {
    const timespec one_ms{0, kMillisecond};
    for (int i = 0; i < 100; ++i) {
      nanosleep(&one_ms, nullptr);
      const Nanoseconds end_ns = process_cpu_now() + 2 * kMillisecond;
      while (process_cpu_now() < end_ns) syscall(SYS_getppid);
    }
  });
  const bool wanted = GENERATE(true, false);
  Session session(child.pid(),
                  either_way({.stack_bytes = 1024, .leaving = true, .kernel_chain = wanted}));
  session.start();
  child.go();
  std::vector<Event> events;
  // One of a fixed number of switches could be a preemption each time.
  const auto over = [&](const std::vector<Event>& all) {
    session.adapt_leaving({.of_thread = 64, .at_place = 4});
    return ended(all);
  };
  REQUIRE(drain_until(session, events, over));
  const auto has = [&](const SampleEvent& sample, std::string_view part) {
    return std::any_of(sample.kernel.begin(), sample.kernel.end(), [&](Address address) {
      return symbols.find(address - 1).find(part) != std::string_view::npos;
    });
  };
  int leaving = 0, asleep = 0, in_kernel = 0, with_part = 0;
  for (const SampleEvent& sample : only<SampleEvent>(events)) {
    if (sample.reason == SampleReason::leaving) {
      ++leaving;
      asleep += has(sample, "nanosleep") ? 1 : 0;
    } else if (sample.in_kernel) {
      ++in_kernel;
      with_part += sample.kernel.empty() ? 0 : 1;
    } else {
      CHECK(sample.kernel.empty());
    }
  }
  CHECK(leaving > 0);
  CHECK(in_kernel > 0);
  CHECK(with_part == (wanted ? in_kernel : 0));
  if (wanted) {
    CHECK(asleep > 0);
  } else {
    CHECK(asleep == 0);
  }
}

TEST_CASE("Two threads that wake each other give edges with the right ends", "[perf]") {
  if (!perf_is_allowed()) return;
  Child child([] {
    int pipes[2][2];
    if (pipe(pipes[0]) != 0 || pipe(pipes[1]) != 0) _exit(1);
    const auto play = [&](int me) {
      char ball = 0;
      for (int i = 0; i < 200; ++i) {
        if (read(pipes[me][0], &ball, 1) != 1) _exit(1);
        spin_for(100 * kMicrosecond);  // meanwhile the other thread blocks in its read
        if (write(pipes[1 - me][1], &ball, 1) != 1) _exit(1);
      }
    };
    std::thread other(play, 1);
    await_go();  // until the other one is followed
    if (write(pipes[0][1], "", 1) != 1) _exit(1);
    play(0);
    other.join();
  });
  Session session(child.pid(), either_way());
  if (!session.limits().wake_edges) {
    WARN("no wake edges: " << session.limits().reasons[0]);
    return;
  }
  session.start();
  std::vector<Event> events;
  go_until_both_followed(child, session, events);
  child.wait_for_end();  // all in one drain: a record that comes late cannot come out of order then
  REQUIRE(drain_until(session, events,
                      [](const auto& all) { return only<ThreadExitEvent>(all).size() == 2; }));
  const auto starts = only<ThreadStartEvent>(events);
  REQUIRE(starts.size() == 2);
  const ThreadId first = starts[0].thread, second = starts[1].thread;
  REQUIRE(first.tid == child.pid());
  REQUIRE(starts[0].parent.serial == 0);
  REQUIRE(starts[1].parent == first);
  const auto end_ns = only<ThreadExitEvent>(events)[0].time_ns;
  for (const auto& wakes : {wakes_between(events, first, second, end_ns),
                            wakes_between(events, second, first, end_ns)}) {
    REQUIRE(wakes.blocks > 20);
    REQUIRE(wakes.explained >= wakes.blocks * 9 / 10);
  }
  REQUIRE(time_ordered(events));
}

TEST_CASE("Every hit of a breakpoint is counted and reported in order, on all threads", "[perf]") {
  if (!perf_is_allowed() || !causalctl::test::test_has_breakpoints()) return;
  constexpr int kHits = 500;
  const bool sampling = GENERATE(true, false);
  Child child([] {
    const auto hit = [] {
      spin_for(20 * kMillisecond);  // to be sampled
      for (int i = 0; i < kHits; ++i) breakpoint_here();
    };
    std::thread other([&] {
      await_go();  // until it is followed
      hit();
    });
    hit();
    other.join();
  });
  Session session(child.pid(), {.sampling = sampling});
  VisitTemplate visit;
  visit.attr.type = PERF_TYPE_BREAKPOINT;
  visit.attr.bp_type = HW_BREAKPOINT_X;
  visit.attr.bp_addr = reinterpret_cast<std::uint64_t>(&breakpoint_here);
  visit.attr.bp_len = sizeof(long);
  visit.tag = 7;
  visit.what = "breakpoint at breakpoint_here";
  try {
    session.add({visit});
  } catch (const Error& error) {
    {
      WARN("no hardware breakpoints here, nothing tested: " << error.what());
      return;
    }
  }
  session.start();
  std::vector<Event> events;
  go_until_both_followed(child, session, events);
  child.wait_for_end();  // all in one drain: a record that comes late cannot come out of order then
  REQUIRE(drain_until(session, events,
                      [](const auto& all) { return only<ThreadExitEvent>(all).size() == 2; }));
  REQUIRE(session.count(7) == 2 * kHits);
  const auto visits = only<VisitEvent>(events);
  REQUIRE(visits.size() == 2 * kHits);
  for (const auto& each : visits) REQUIRE(each.tag == 7);
  REQUIRE(std::count_if(visits.begin(), visits.end(),
                        [&](const auto& each) { return each.thread.tid == child.pid(); }) == kHits);
  REQUIRE(time_ordered(events));
  REQUIRE(only<SampleEvent>(events).empty() != sampling);
  REQUIRE(only<SwitchEvent>(events).empty() != sampling);
  REQUIRE((sampling || only<WakeEvent>(events).empty()));
}

TEST_CASE("A fifth breakpoint is refused with a hint, and the others stay", "[perf]") {
  if (!perf_is_allowed()) return;
  Child child([] { spin_for(10 * kSecond); });
  Session session(child.pid(), {});
  VisitTemplate visit;
  visit.attr.type = PERF_TYPE_BREAKPOINT;
  visit.attr.bp_type = HW_BREAKPOINT_X;
  visit.attr.bp_addr = reinterpret_cast<std::uint64_t>(&breakpoint_here);
  visit.attr.bp_len = sizeof(long);
  visit.what = "breakpoint";
  int armed = 0, error_number = 0;
  std::string hint;
  for (; armed < 5; ++armed) {
    try {
      session.add({visit});
    } catch (const Error& error) {
      error_number = error.error_number();
      hint = error.hint();
      break;
    }
  }
  if (armed == 0) {
    WARN("no hardware breakpoints here, nothing tested");
    return;
  }
  REQUIRE(armed == 4);
  REQUIRE(error_number == ENOSPC);
  REQUIRE(hint.find("breakpoint registers") != std::string::npos);
}

}  // namespace causalctl::perf::test
