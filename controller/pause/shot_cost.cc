#include "controller/pause/shot_cost.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/thread.h"
#include "controller/pause/sigtrap_channel.h"
#include "controller/perf/attrs.h"
#include "controller/perf/event.h"

namespace causalctl::pause {
namespace {

constexpr int kShots = 41;
constexpr int kStops = 21;
constexpr Nanoseconds kStop = kMillisecond;
constexpr Nanoseconds kSleep = 200 * kMicrosecond;  // how long the handler sleeps, as the stub does
constexpr Nanoseconds kPatience = 50 * kMillisecond;  // how long one shot is waited for
constexpr Nanoseconds kStopPatience = kSecond;  // how long the guardian's answer is waited for
// Two readings of the clock by an undisturbed thread are less than this apart.
constexpr Nanoseconds kGap = 1500;
// Waits that let all interrupts of a shot fall into the measurement: kBefore between two polls for
// the handler, kAfter for the return from it.
constexpr Nanoseconds kBefore = 200 * kMicrosecond;
constexpr Nanoseconds kAfter = 100 * kMicrosecond;

std::atomic<Nanoseconds> handler_ns;
std::atomic<int> handled;

void on_shot(int /*signal*/, siginfo_t* /*info*/, void* /*context*/) {
  const Nanoseconds entered_ns = monotonic_now();
  sleep_until(entered_ns + kSleep);
  handler_ns = monotonic_now() - entered_ns;
  ++handled;
}

// A thread as busy as one of a target. It adds up the time in which it did not run.
class Spinner {
 public:
  Spinner() : thread_(start_thread("the cost of a pause", [this] { spin(); })) {
    while (tid_ == 0) std::this_thread::yield();
  }
  ~Spinner() {
    stop_ = true;
    thread_.join();
  }
  Spinner(const Spinner&) = delete;
  Spinner& operator=(const Spinner&) = delete;

  Tid tid() const { return tid_; }
  Nanoseconds lost_ns() const { return lost_ns_; }

 private:
  void spin() {
    tid_ = gettid();
    Nanoseconds last_ns = monotonic_now();
    while (!stop_) {
      const Nanoseconds now_ns = monotonic_now();
      if (now_ns - last_ns > kGap) lost_ns_ += now_ns - last_ns;
      last_ns = now_ns;
    }
  }

  std::atomic<Tid> tid_ = 0;
  std::atomic<Nanoseconds> lost_ns_ = 0;
  std::atomic<bool> stop_ = false;
  std::thread thread_;  // last: it uses all of the above
};

// Returns the time lost to one shot besides its handler, or a negative number if it did not come.
Nanoseconds one_shot(const perf::EventFd& event, const Spinner& spinner) {
  const int before = handled;
  const Nanoseconds lost_before_ns = spinner.lost_ns();
  const Nanoseconds deadline_ns = monotonic_now() + kPatience;
  event.refresh(1);
  while (handled == before) {
    if (monotonic_now() > deadline_ns) return -1;
    sleep_until(monotonic_now() + kBefore);
  }
  sleep_until(monotonic_now() + kAfter);
  return spinner.lost_ns() - lost_before_ns - handler_ns;
}

// Adds the time lost to one ptrace-stop besides the stop itself, unless it is refused. Returns
// false if there was no answer: no other stop must be requested while it may still come.
bool one_stop(tracee::Guardian& guardian, const Spinner& spinner,
              std::vector<Nanoseconds>& costs_ns) {
  const Nanoseconds lost_before_ns = spinner.lost_ns();
  Patience patience(kStopPatience);
  guardian.pause(spinner.tid(), kStop);
  auto finished = guardian.finished_pauses();
  while (finished.empty() && !patience.over()) {
    sleep_until(monotonic_now() + kBefore);
    finished = guardian.finished_pauses();
  }
  if (finished.empty()) return false;
  sleep_until(monotonic_now() + kAfter);
  const Nanoseconds stopped_ns = finished[0].end_ns - finished[0].start_ns;
  if (stopped_ns > 0) costs_ns.push_back(spinner.lost_ns() - lost_before_ns - stopped_ns);
  return true;
}

Nanoseconds median_or_zero(std::vector<Nanoseconds> costs_ns) {
  if (costs_ns.empty()) return 0;
  const auto middle = costs_ns.begin() + static_cast<std::ptrdiff_t>(costs_ns.size() / 2);
  std::nth_element(costs_ns.begin(), middle, costs_ns.end());
  return std::max<Nanoseconds>(*middle, 0);
}

}  // namespace

Nanoseconds measure_stop_cost(tracee::Guardian& guardian) {
  std::vector<Nanoseconds> costs_ns;
  const Spinner spinner;
  for (int i = 0; i < kStops && one_stop(guardian, spinner, costs_ns); ++i) continue;
  return median_or_zero(std::move(costs_ns));
}

Nanoseconds measure_shot_cost() {
  struct sigaction action {};
  struct sigaction previous {};
  action.sa_sigaction = on_shot;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigfillset(&action.sa_mask);
  if (sigaction(SIGTRAP, &action, &previous) != 0) return 0;

  std::vector<Nanoseconds> costs_ns;
  try {
    const Spinner spinner;
    const auto event =
        perf::EventFd::open(perf::sigtrap_attr(0, kShotPeriod), spinner.tid(), "pause event");
    for (int i = 0; event && i < kShots; ++i) {
      if (const Nanoseconds cost_ns = one_shot(*event, spinner); cost_ns >= 0) {
        costs_ns.push_back(cost_ns);
      }
    }
  } catch (const Error& error) {  // then the channel is not chosen, and its choice reports why
    log::verbose("{}", error.what());
  }
  sigaction(SIGTRAP, &previous, nullptr);
  return median_or_zero(std::move(costs_ns));
}

}  // namespace causalctl::pause
