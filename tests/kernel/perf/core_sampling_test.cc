#include "controller/perf/core_sampling.h"

#include <linux/capability.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <deque>
#include <iterator>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/procfs.h"
#include "tests/kernel/perf/child.h"
#include "tests/support/skip.h"

namespace causalctl::perf::test {
namespace {

bool cores_can_be_sampled() {
  const auto why_not = why_no_core_sampling();
  if (!why_not) return true;
  causalctl::test::skip_test_case("cores cannot be sampled here: " + *why_not);
  return false;
}

// A reader that comes later than this may find that rings were full.
constexpr Nanoseconds kLate = 12 * kMillisecond;

// Returns the longest time from one drain to the next.
Nanoseconds drain_for(Session& session, std::vector<Event>& events, Nanoseconds time_ns) {
  Nanoseconds longest_ns = 0;
  const Nanoseconds end_ns = monotonic_now() + time_ns;
  for (Nanoseconds last_ns = monotonic_now(); last_ns < end_ns;) {
    sleep_until(monotonic_now() + kMillisecond);
    for (const Event& event : session.drain(monotonic_now())) events.push_back(event);
    const Nanoseconds now_ns = monotonic_now();
    longest_ns = std::max(longest_ns, now_ns - std::exchange(last_ns, now_ns));
  }
  return longest_ns;
}

}  // namespace

TEST_CASE("Samples of other processes are dropped in the kernel", "[perf]") {
  if (!perf_is_allowed() || !cores_can_be_sampled()) return;
  Child other([] { spin_for(10 * kSecond); });
  Child child([] { spin_for(10 * kSecond); });
  child.go();
  other.go();
  ProcessBits processes;
  processes.sample(child.pid());
  processes.follow(other.pid());  // without samples
  CoreSampling cores(processes, {.period_ns = 500 * kMicrosecond, .stack_bytes = 256},
                     lockable_pages(), 1);
  cores.enable(true);
  int own = 0, foreign = 0;
  const Nanoseconds end_ns = monotonic_now() + 300 * kMillisecond;
  while (monotonic_now() < end_ns) {
    const auto use = [&](const SampleRecord& sample, Nanoseconds) {
      ++(sample.common.pid == child.pid() ? own : foreign);
    };
    cores.read(use, [](const Record&) {});
    sleep_until(monotonic_now() + kMillisecond);
  }
  CHECK(own > 50);
  CHECK(foreign == 0);
}

TEST_CASE("The clocks of cores sample the threads of one process", "[perf]") {
  if (!perf_is_allowed() || !cores_can_be_sampled()) return;
  Child other([] { spin_for(10 * kSecond); });
  Child child([] {
    std::thread(spin_for, 10 * kSecond).detach();
    spin_for(10 * kSecond);
  });
  child.go();
  other.go();
  while (cpu_time_of(child.pid()) < 5 * kMillisecond) sleep_until(monotonic_now() + kMillisecond);
  Session session(child.pid(), {.period_ns = 500 * kMicrosecond,
                                .call_chain_depth = 0,
                                .stack_bytes = 1024,
                                .leaving = true,
                                .clocks = Clocks::cores});
  CHECK(session.has_room_for(60 * 1024) == procfs::has_capability(CAP_IPC_LOCK));
  const Nanoseconds before_ns = cpu_time_of(child.pid());
  session.start();
  std::vector<Event> events;
  const Nanoseconds longest_ns = drain_for(session, events, 500 * kMillisecond);
  const Nanoseconds ran_ns = cpu_time_of(child.pid()) - before_ns;
  if (session.losses().records_lost > 0 && longest_ns > kLate) {
    return causalctl::test::skip_test_case("the reader was late, and records were lost");
  }
  std::set<ThreadId> sampled;
  Nanoseconds sampled_ns = 0;
  for (const auto& sample : only<SampleEvent>(events)) {
    if (sample.reason != SampleReason::cpu_time) continue;
    sampled.insert(sample.thread);
    sampled_ns += sample.period_ns;
    REQUIRE(sample.user.registers.size() == 20);
    if (!sample.in_kernel) CHECK(sample.user.registers[8] == sample.callers.at(0));
    CHECK_FALSE(sample.user.stack.empty());
  }
  const auto threads = session.threads();
  CHECK(sampled == std::set<ThreadId>(threads.begin(), threads.end()));
  CHECK(sampled.size() == 2);
  // Ticks that come late when the machine stalls are one sample.
  CHECK(static_cast<double>(sampled_ns) > 0.7 * static_cast<double>(ran_ns));
  CHECK(static_cast<double>(sampled_ns) < 1.3 * static_cast<double>(ran_ns));
  CHECK(session.losses().records_lost == 0);

  session.enable_sampling(false);
  drain_until(
      session, events, [](const auto&) { return false; }, 5 * kMillisecond);
  events.clear();
  drain_until(
      session, events, [](const auto&) { return false; }, 50 * kMillisecond);
  CHECK(only<SampleEvent>(events).empty());
}

namespace {

// A process that runs all the time, sampled by the clocks of the cores.
class Sampled {
 public:
  explicit Sampled(Nanoseconds period_ns) {
    child_.go();
    while (cpu_time_of(child_.pid()) < 5 * kMillisecond)
      sleep_until(monotonic_now() + kMillisecond);
    session.emplace(
        child_.pid(),
        SessionOptions{.period_ns = period_ns, .stack_bytes = 1024, .clocks = Clocks::cores});
    session->start();
    before_ns_ = cpu_time_of(child_.pid());  // to open a session takes many periods
  }
  std::vector<SampleEvent> samples_of(Nanoseconds time_ns) {
    std::vector<Event> events;
    drain_until(
        *session, events, [](const auto&) { return false; }, time_ns);
    return only<SampleEvent>(events);
  }
  Nanoseconds ran_ns() const { return cpu_time_of(child_.pid()) - before_ns_; }

  std::optional<Session> session;

 private:
  Child child_{[] { spin_for(20 * kSecond); }};
  Nanoseconds before_ns_ = 0;  // the CPU time at the start of the session
};

Nanoseconds sum_of(const std::vector<SampleEvent>& samples) {
  Nanoseconds sum = 0;
  for (const SampleEvent& sample : samples) sum += sample.period_ns;
  return sum;
}

}  // namespace

TEST_CASE("Clocks of cores take a new period, and stop copying stacks", "[perf]") {
  if (!perf_is_allowed() || !cores_can_be_sampled()) return;
  Sampled sampled(10 * kMillisecond);
  // Clocks tick while the process has a core, which others may have for most of the time.
  while (sampled.ran_ns() < 100 * kMillisecond) sleep_until(monotonic_now() + 10 * kMillisecond);
  const Nanoseconds set_ns = monotonic_now();
  sampled.session->set_period(500 * kMicrosecond);
  auto before = sampled.samples_of(0);
  std::erase_if(before, [&](const SampleEvent& sample) { return sample.time_ns >= set_ns; });
  REQUIRE(before.size() > 2);
  for (const SampleEvent& sample : before) {  // stand for what the clock was set to at their time
    CHECK_FALSE(sample.user.stack.empty());
    CHECK(sample.period_ns > 5 * kMillisecond);
  }
  sampled.session->set_stack_bytes(0);
  sampled.samples_of(20 * kMillisecond);  // those that were on the way
  const Nanoseconds before_ns = sampled.ran_ns();
  const auto samples = sampled.samples_of(400 * kMillisecond);
  const auto ran_ns = static_cast<double>(sampled.ran_ns() - before_ns);
  REQUIRE(samples.size() > 20);
  for (const SampleEvent& sample : samples) {
    CHECK(sample.user.stack.empty());
    CHECK_FALSE(sample.callers.empty());
    CHECK(sample.period_ns < kMillisecond);
  }
  CHECK(static_cast<double>(sum_of(samples)) > 0.7 * ran_ns);
  CHECK(static_cast<double>(sum_of(samples)) < 1.3 * ran_ns);
}

// The kernel begins a period anew when it is set.
TEST_CASE("Drawing periods for cores loses little CPU time", "[perf]") {
  if (!perf_is_allowed() || !cores_can_be_sampled()) return;
  Sampled sampled(2 * kMillisecond);
  sampled.samples_of(20 * kMillisecond);
  const Nanoseconds before_ns = sampled.ran_ns();
  Nanoseconds sampled_ns = 0;
  for (int i = 0; i < 600; ++i) {
    sampled.session->jitter();
    sampled_ns += sum_of(sampled.samples_of(2 * kMillisecond));
  }
  const auto ran_ns = static_cast<double>(sampled.ran_ns() - before_ns);
  // With a draw each time, half or more would be missing.
  CHECK(static_cast<double>(sampled_ns) > 0.8 * ran_ns);
  CHECK(static_cast<double>(sampled_ns) < 1.1 * ran_ns);
}

// In a process of hundreds of threads each thread's ring has room for few samples.
TEST_CASE("Switches are sampled as often as a small ring has room", "[perf]") {
  if (!perf_is_allowed()) return;
  const Clocks clocks = GENERATE(Clocks::threads, Clocks::cores);
  const bool by_core = clocks == Clocks::cores;
  if (by_core && !cores_can_be_sampled()) return;
  Child child([] {
    for (int i = 0; i < 300; ++i) std::thread([] { pause(); }).detach();
    await_go();
    // As sendmsg(2) is called by some.
    std::array<char, 16 * 1024> vectors{};
    for (;;) {
      asm volatile("" : : "r"(vectors.data()) : "memory");
      usleep(1);
    }
  });
  child.go();
  while (procfs::threads(child.pid()).size() < 301) sleep_until(monotonic_now() + kMillisecond);
  Session session(
      child.pid(),
      {.call_chain_depth = 0, .stack_bytes = 32 * 1024, .leaving = true, .clocks = clocks});
  CHECK(session.by_core() == by_core);
  CHECK_FALSE(session.has_room_for(60 * 1024));
  session.start();
  child.go();
  std::vector<Event> events;
  int steady = 0;  // drains
  // Found by these. What is lost because the reader is late, or because the child switches more
  // often than before (it had to wait for a core), is found by the drain after, and no ring is so
  // large. How often is sampled follows within some drains, by doubling.
  std::uint64_t lost = 0;
  const auto drain_times = [&](int times) {
    constexpr std::size_t kFollowed = 5;
    std::deque<std::size_t> before;  // switches found by the last drains
    Nanoseconds last_ns = monotonic_now();
    for (int i = 0; i < times; ++i) {
      sleep_until(monotonic_now() + 8 * kMillisecond);
      const std::uint64_t lost_before = session.losses().records_lost;
      const EventBatch drained = session.drain(monotonic_now());
      std::vector<Event> fresh(drained.begin(), drained.end());
      session.adapt_leaving({.of_thread = 64, .at_place = 8});
      const Nanoseconds now_ns = monotonic_now();
      const bool is_late = now_ns - std::exchange(last_ns, now_ns) > kLate;
      const std::size_t switches = only<SwitchEvent>(fresh).size();
      const bool is_steady = before.size() == kFollowed &&
                             std::all_of(before.begin(), before.end(), [&](std::size_t each) {
                               return 2 * each > switches && each < 2 * switches;
                             });
      before.push_back(is_late ? 0 : switches);
      if (before.size() > kFollowed) before.pop_front();
      if (!is_steady || is_late) continue;
      ++steady;
      lost += session.losses().records_lost - lost_before;
      std::move(fresh.begin(), fresh.end(), std::back_inserter(events));
    }
  };
  drain_times(50);
  events.clear();
  steady = 0;
  lost = 0;
  drain_times(150);
  if (steady < 30) return causalctl::test::skip_test_case("the child's pace changed all the time");
  const auto samples = only<SampleEvent>(events);
  const auto leaving = std::count_if(samples.begin(), samples.end(), [](const auto& sample) {
    return sample.reason == SampleReason::leaving;
  });
  CAPTURE(leaving, lost, steady, only<SwitchEvent>(events).size());
  CHECK(leaving > steady);
  CHECK(lost < static_cast<std::uint64_t>(leaving));
  CHECK(std::all_of(samples.begin(), samples.end(), [](const auto& sample) {
    return sample.reason != SampleReason::leaving || sample.user.stack.size() > 16 * 1024;
  }));
}

TEST_CASE("A stopped process is not looked at", "[perf]") {
  Child child([] {
    for (;;) usleep(1);
  });
  child.go();
  REQUIRE(kill(child.pid(), SIGSTOP) == 0);
  while (procfs::thread_status(child.pid(), child.pid())->state != 'T') std::this_thread::yield();
  Nanoseconds shortest_ns = kSecond;  // the look itself takes 50 ms
  for (int i = 0; i < 10; ++i) {
    const Nanoseconds before_ns = monotonic_now();
    CHECK(switches_per_second({child.pid()}) == 0);
    shortest_ns = std::min(shortest_ns, monotonic_now() - before_ns);
  }
  CHECK(shortest_ns < 50 * kMillisecond);
}

TEST_CASE("Clocks of cores pay for a process that switches often", "[perf]") {
  Child busy([] { spin_for(10 * kSecond); });
  busy.go();
  CHECK_FALSE(core_sampling_pays(switches_per_second({busy.pid()}), kMillisecond));
  Child sleepy([] {
    for (;;) usleep(1);
  });
  sleepy.go();
  sleep_until(monotonic_now() + 5 * kMillisecond);
  const double switches = switches_per_second({sleepy.pid()});
  CHECK(core_sampling_pays(switches, kMillisecond));
  CHECK_FALSE(core_sampling_pays(switches, 10 * kMicrosecond));
}

TEST_CASE("The clocks of cores are taken once threads switch often", "[perf]") {
  if (!perf_is_allowed() || !cores_can_be_sampled()) return;
  Child child([] {
    spin_for(kSecond / 2);
    for (long i = 0; i < sysconf(_SC_NPROCESSORS_ONLN); ++i) {
      std::thread([] {
        for (;;) {
          usleep(1);
          spin_for(200 * kMicrosecond);
        }
      }).detach();
    }
    for (;;) {
      std::thread(spin_for, 10 * kMillisecond).join();
      usleep(20'000);
    }
  });
  child.go();
  Session session(child.pid(), {.stack_bytes = 1024, .leaving = true, .clocks = Clocks::cheaper});
  const Nanoseconds before_ns = cpu_time_of(child.pid());
  session.start();
  CHECK_FALSE(session.by_core());
  std::vector<Event> events;
  for (int i = 0; i < 20 && !session.by_core(); ++i) {
    drain_until(
        session, events, [](const auto&) { return false; }, kSecond / 2);
    session.choose_clocks();
  }
  REQUIRE(session.by_core());
  const Nanoseconds changed_ns = monotonic_now();
  std::set<ThreadId> sampled, born_later;
  for (int i = 0; i < 20 && born_later.size() <= 10; ++i) {  // on a busy machine few are born
    drain_until(
        session, events, [](const auto&) { return false; }, kSecond);
    for (const auto& start : only<ThreadStartEvent>(events)) {
      if (start.time_ns > changed_ns) born_later.insert(start.thread);
    }
  }
  const auto ran_ns = static_cast<double>(cpu_time_of(child.pid()) - before_ns);
  Nanoseconds sampled_ns = 0;
  const auto changes = only<SwitchEvent>(events);
  const auto switches = std::count_if(changes.begin(), changes.end(), [&](const auto& change) {
    return change.time_ns > changed_ns && change.kind != SwitchKind::in;
  });
  long leaving = 0;
  for (const auto& sample : only<SampleEvent>(events)) {
    sampled_ns += sample.period_ns;
    if (born_later.contains(sample.thread)) sampled.insert(sample.thread);
    if (sample.time_ns > changed_ns && sample.reason == SampleReason::leaving) ++leaving;
  }
  CHECK(static_cast<double>(sampled_ns) > 0.7 * ran_ns);
  CHECK(static_cast<double>(sampled_ns) < 1.3 * ran_ns);
  CHECK(leaving > switches / 24);  // one in 16 at least
  CHECK(switches > 1000);
  CHECK(born_later.size() > 10);
  CHECK(sampled.size() > born_later.size() / 2);
}

}  // namespace causalctl::perf::test
