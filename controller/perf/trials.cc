#include "controller/perf/trials.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/procfs.h"
#include "controller/base/thread.h"
#include "controller/perf/tracepoint.h"

namespace causalctl::perf {
namespace {

constexpr int kTries = 3;

constexpr Nanoseconds kPeriod = 250 * kMicrosecond;
constexpr int kSamples = 3;
constexpr Nanoseconds kRunning = 30 * kMillisecond;  // CPU time in which samples must come
constexpr int kSomeUserCode = 100'000;  // must be user code: in system calls no sample is taken

constexpr Nanoseconds kSleep = 50 * kMicrosecond;  // long enough for a switch
// A thread may wait this long for the core on which it blocks.
constexpr Nanoseconds kBlocking = kSecond;
constexpr int kLongestSleepMs = 100;  // so that it ends although a wake-up may fail

// A security module or a seccomp filter may say so of a thread that lives.
Error no_such_thread() {
  return Error::from_errno(fmt::format("perf_event_open on causalctl's own thread {}", gettid()),
                           ESRCH);
}

std::optional<std::string> see_samples() {
  ThreadPlan plan = nothing_but_bookkeeping();
  plan.sample = true;
  plan.sampling = {.period_ns = kPeriod, .kernel = false};
  ThreadEvents events = own_events(plan, kPeriod);
  int samples = 0;
  const Nanoseconds start_ns = process_cpu_now();
  Nanoseconds ran_ns = 0;
  while (samples < kSamples && ran_ns < kRunning) {
    for (int i = 0; i < kSomeUserCode; ++i) asm volatile("" ::: "memory");
    events.read([&](const Record& record) {
      const auto* sample = std::get_if<SampleRecord>(&record);
      if (sample != nullptr && events.is_sample(*sample)) ++samples;
    });
    ran_ns = process_cpu_now() - start_ns;
  }
  if (samples == 0) return std::nullopt;
  return fmt::format("{} samples of a thread of ours in {:.1f} ms", samples,
                     static_cast<double>(ran_ns) / kMillisecond);
}

std::optional<std::string> see_switches() {
  ThreadPlan plan = nothing_but_bookkeeping();
  plan.switches = true;
  ThreadEvents events = own_events(plan, kPeriod);
  sleep_until(monotonic_now() + kSleep);
  bool out = false;
  bool in = false;
  events.read([&](const Record& record) {
    const auto* change = std::get_if<SwitchRecord>(&record);
    if (change == nullptr) return;
    (change->out ? out : in) = true;
  });
  if (!out || !in) return std::nullopt;
  return "a thread of ours slept, and both its switches came";
}

// The kernel writes a record whenever a thread is named, even if its name stays the same.
std::optional<std::string> see_times(std::string& nothing) {
  std::array<char, 16> name{};
  if (prctl(PR_GET_NAME, name.data()) != 0) return std::nullopt;
  ThreadEvents events = own_events(nothing_but_bookkeeping(), kPeriod);
  const Nanoseconds before_ns = monotonic_now();
  if (prctl(PR_SET_NAME, name.data()) != 0) return std::nullopt;
  const Nanoseconds after_ns = monotonic_now();
  std::optional<Nanoseconds> time_ns;
  events.read([&](const Record& record) {
    if (const auto* comm = std::get_if<CommRecord>(&record)) time_ns = comm->common.time_ns;
  });
  if (!time_ns) return std::nullopt;
  nothing = wrong_time(before_ns, *time_ns, after_ns);
  if (!nothing.empty()) return std::nullopt;
  return "the time of a record lies between two readings of CLOCK_MONOTONIC";
}

// A thread that waits to be woken, any number of times.
class Sleeper {
 public:
  Sleeper() : bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!bell_) throw Error::from_errno("eventfd", errno);
    thread_ = start_thread("a try of wake-ups", [this] { sleep(); });
    while (tid_ == 0) std::this_thread::yield();
  }
  ~Sleeper() {
    stop_ = true;
    wake();
    thread_.join();
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  Tid tid() const { return tid_; }
  void wake() const { (void)eventfd_write(bell_.get(), 1); }
  bool is_blocked() const {
    const auto stat = procfs::thread_stat(getpid(), tid_);
    return stat && procfs::is_blocked(procfs::parse_state(*stat));
  }

 private:
  void sleep() {
    tid_ = gettid();
    while (!stop_) {
      pollfd bell = {bell_.get(), POLLIN, 0};
      eventfd_t rung = 0;
      if (poll(&bell, 1, kLongestSleepMs) > 0) (void)eventfd_read(bell_.get(), &rung);
    }
  }

  Fd bell_;
  std::atomic<Tid> tid_ = 0;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

// In a pid namespace other than the initial one, the tracepoint's numbers of threads differ from
// ours, which its number for the waker shows (WakingReader). Then any thread may be the one that we
// woke.
std::optional<std::string> see_wake_ups(const WakingFormat& format) {
  keep_one_open(format);
  ThreadPlan plan = nothing_but_bookkeeping();
  plan.waking = waking_attr(format.id);
  const Sleeper sleeper;
  ThreadEvents events = own_events(plan, kPeriod);
  for (Patience patience(kBlocking); !sleeper.is_blocked() && !patience.over();) {
    sleep_until(monotonic_now() + kSleep);
  }
  sleeper.wake();
  bool seen = false;
  events.read([&](const Record& record) {
    const auto* sample = std::get_if<SampleRecord>(&record);
    if (sample == nullptr || !events.is_wake(*sample)) return;
    const auto waking = parse_waking(sample->raw, format);
    if (!waking || waking->context != WakeContext::task) return;
    seen = seen || waking->woken == sleeper.tid() || waking->waker != sample->common.tid;
  });
  if (!seen) return std::nullopt;
  return "a wake-up of a thread of ours came, with its number";
}

}  // namespace

std::string wrong_time(Nanoseconds before_ns, Nanoseconds time_ns, Nanoseconds after_ns) {
  if (before_ns <= time_ns && time_ns <= after_ns) return "";
  return fmt::format("the time of a record is {} µs from CLOCK_MONOTONIC",
                     std::abs(time_ns - before_ns) / kMicrosecond);
}

Trial try_out(Facility facility, std::string nothing,
              const std::function<std::optional<std::string>()>& once) {
  Trial trial{facility, Outcome::never_fired, std::move(nothing), "", 0};
  try {
    for (int i = 0; i < kTries; ++i) {
      auto finding = once();
      if (!finding || is_pretended_broken(facility)) continue;
      trial.outcome = Outcome::seen;
      trial.finding = std::move(*finding);
      break;
    }
  } catch (const Error& error) {
    return refused(facility, error);
  }
  return trial;
}

Trial try_sample() { return try_out(Facility::sample, "opened, but no sample came", see_samples); }

Trial try_clock() {
  // Or what was wrong with the record that came.
  std::string nothing = "opened, but no record came";
  Trial trial = try_out(Facility::clock, nothing, [&nothing] { return see_times(nothing); });
  if (trial.outcome == Outcome::never_fired && !nothing.empty()) trial.finding = nothing;
  return trial;
}

Trial try_switch_record() {
  return try_out(Facility::switch_record, "opened, but no record came", see_switches);
}

Trial try_wake_up() {
  std::string reason;
  const auto format = find_waking_format(reason);
  if (!format) return {Facility::wake_up, Outcome::refused, reason, "", 0};
  return try_out(Facility::wake_up, "opened, but no record came",
                 [&format] { return see_wake_ups(*format); });
}

ThreadEvents own_events(ThreadPlan plan, Nanoseconds period_ns) {
  plan.rings.pages = 8;
  plan.running = true;
  auto events = ThreadEvents::open({gettid(), 1}, monotonic_now(), period_ns, plan);
  if (!events) throw no_such_thread();
  return std::move(*events);
}

ThreadPlan nothing_but_bookkeeping() {
  ThreadPlan plan;
  plan.sample = false;
  plan.switches = false;
  plan.peers = false;
  return plan;
}

std::vector<Trial> try_all() {
  return {try_sample(), try_clock(), try_switch_record(), try_wake_up()};
}

}  // namespace causalctl::perf
