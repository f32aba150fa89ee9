#include "controller/perf/trials.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
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
constexpr Nanoseconds kTimer = 200 * kMicrosecond;
constexpr int kTimers = 10;  // in one of them the thread that sets it must stay on its core

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
  Sleeper()
      : bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
    if (!bell_ || !timer_) throw Error::from_errno("eventfd", errno);
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
  // Has it woken in an interrupt of the core on which the caller is now.
  void wake_in(Nanoseconds ns) const {
    const itimerspec time{{}, {0, static_cast<long>(ns)}};
    (void)timerfd_settime(timer_.get(), 0, &time, nullptr);
  }
  void wait_until_blocked() const {
    for (Patience patience(kBlocking); !is_blocked() && !patience.over();) {
      sleep_until(monotonic_now() + kSleep);
    }
  }
  bool is_blocked() const {
    const auto stat = procfs::thread_stat(getpid(), tid_);
    return stat && procfs::is_blocked(procfs::parse_state(*stat));
  }

 private:
  void sleep() {
    tid_ = gettid();
    while (!stop_) {
      std::array<pollfd, 2> either{{{bell_.get(), POLLIN, 0}, {timer_.get(), POLLIN, 0}}};
      std::uint64_t times = 0;
      if (poll(either.data(), either.size(), kLongestSleepMs) <= 0) continue;
      for (const pollfd& each : either) (void)!read(each.fd, &times, sizeof times);
    }
  }

  Fd bell_, timer_;
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
  sleeper.wait_until_blocked();
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

bool saw_both_switches(const SchedulerRecords& records) {
  const auto is_ours = [tid = gettid()](const CoreSwitch& each, Tid CoreSwitch::*which) {
    return each.*which == tid;
  };
  bool out = false;
  bool in = false;
  for (const CoreSwitch& each : records.switches) {
    out = out || (is_ours(each, &CoreSwitch::left) && each.blocked);
    in = in || is_ours(each, &CoreSwitch::came);
  }
  return out && in;
}

bool saw_waking(const SchedulerRecords& records, Tid woken, WakeContext context) {
  return std::any_of(records.wakings.begin(), records.wakings.end(), [&](const CoreWaking& waking) {
    return waking.waker == gettid() && waking.woken == woken && waking.context == context;
  });
}

// The frame of the caller is in what was copied.
bool saw_our_stack(const SchedulerRecords& records, SampleReason reason) {
  const auto frame = reinterpret_cast<Address>(__builtin_frame_address(0));
  return std::any_of(records.samples.begin(), records.samples.end(), [&](const SampleEvent& each) {
    const auto& stack = each.user.stack;
    return each.reason == reason && each.thread.tid == gettid() && each.stack_pointer < frame &&
           each.stack_pointer + stack.size() > frame;
  });
}

// This thread must stay on the core on which the timer is set.
bool see_timer(SchedulerWatch& watch, const Sleeper& sleeper) {
  for (int i = 0; i < kTimers; ++i) {
    sleeper.wait_until_blocked();
    sleeper.wake_in(kTimer);
    for (const Nanoseconds until_ns = monotonic_now() + 2 * kTimer; monotonic_now() < until_ns;) {
      asm volatile("" ::: "memory");
    }
    const auto records = watch.read();
    if (saw_waking(records, sleeper.tid(), WakeContext::task)) return false;
    if (saw_waking(records, sleeper.tid(), WakeContext::hardirq)) return true;
  }
  return false;
}

// Returns "" if all was seen, otherwise what was not.
std::string not_seen(SchedulerWatch& watch, const SchedulerWatch::Wanted& wanted) {
  (void)watch.read();
  if (wanted.leaving) watch.sample_leaving(kLeavingStackBytes);
  sleep_until(monotonic_now() + kSleep);
  const SchedulerRecords records = watch.read();
  if (!saw_both_switches(records)) return "loaded, but no switch was recorded";
  if (wanted.leaving) {
    watch.sample_leaving(0);
    if (!saw_our_stack(records, SampleReason::leaving)) {
      return "loaded, but the stack was not copied at a switch";
    }
  }
  if (!wanted.wakings) return "";
  const Sleeper sleeper;
  sleeper.wait_until_blocked();
  (void)watch.read();
  if (wanted.wakers) watch.sample_leaving(kLeavingStackBytes);
  sleeper.wake();
  const SchedulerRecords of_wake = watch.read();
  if (!saw_waking(of_wake, sleeper.tid(), WakeContext::task)) {
    return "loaded, but no wake-up was recorded";
  }
  if (wanted.wakers) {
    watch.sample_leaving(0);
    if (!saw_our_stack(of_wake, SampleReason::waking)) {
      return "loaded, but the stack was not copied at a wake-up";
    }
  }
  return see_timer(watch, sleeper) ? "" : "wake-ups by interrupts were not told from others";
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

std::optional<SchedulerWatch> try_scheduler(Trial& trial, const SchedulerWatch::Wanted& wanted) {
  std::optional<SchedulerWatch> watch;
  std::string nothing;
  const auto once = [&]() -> std::optional<std::string> {
    if (!watch) {
      watch.emplace(wanted);
      watch->start();
      watch->processes()->sample(getpid());
    }
    nothing = not_seen(*watch, wanted);
    if (!nothing.empty()) return std::nullopt;
    return "what a thread of ours did was seen";
  };
  trial = try_out(Facility::scheduler, "loaded, but nothing was recorded", once);
  if (!trial.is_seen()) {
    if (trial.outcome == Outcome::never_fired && !nothing.empty()) trial.finding = nothing;
    return std::nullopt;
  }
  watch->processes()->leave(getpid());
  return watch;
}

ThreadEvents own_events(ThreadPlan plan, Nanoseconds period_ns) {
  plan.rings.pages = 8;
  plan.running = true;
  auto events = ThreadEvents::open({gettid(), 1}, getpid(), monotonic_now(), period_ns, plan);
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
