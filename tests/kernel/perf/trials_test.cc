// Each facility of a session is seen to work here, and reported broken if that is pretended.
#include "controller/perf/trials.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <system_error>

#include "controller/base/procfs.h"
#include "controller/perf/sample_time.h"
#include "controller/perf/session.h"
#include "tests/kernel/perf/child.h"
#include "tests/support/pretend_broken.h"

namespace causalctl::perf {

TEST_CASE("a sample takes less than a millisecond of its thread", "[perf][trials]") {
  const auto plain = time_of_sample({}, 40);
  const auto with_stack = time_of_sample({.stack_bytes = 8192}, 40);
  REQUIRE(plain);
  REQUIRE(with_stack);
  CHECK(plain->high > 0);
  CHECK(plain->low < static_cast<double>(kMillisecond));
  CHECK(with_stack->high > 0);
  CHECK(with_stack->low < static_cast<double>(kMillisecond));
}

namespace {

std::size_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

std::ptrdiff_t open_perf_events() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return std::count_if(begin(files), end(files), [](const auto& file) {
    std::error_code closed_meanwhile;
    return std::filesystem::read_symlink(file, closed_meanwhile) == "anon_inode:[perf_event]";
  });
}

std::string own_name() {
  std::array<char, 16> name{};
  pthread_getname_np(pthread_self(), name.data(), name.size());
  return name.data();
}

}  // namespace

TEST_CASE("what a session needs is seen to work, and nothing of the tries is left", "[perf]") {
  (void)try_wake_up();  // keeps our own mount of tracefs, if there is no other
  const auto files = open_files();
  const auto threads = procfs::threads(getpid()).size();
  const auto name = own_name();
  const auto trials = try_all();
  REQUIRE(trials.size() == 4);
  const std::array facilities = {Facility::sample, Facility::clock, Facility::switch_record,
                                 Facility::wake_up};
  const std::array findings = {"[1-9][0-9]* samples of a thread of ours in [0-9.]+ ms",
                               "the time of a record lies between two readings of CLOCK_MONOTONIC",
                               "a thread of ours slept, and both its switches came",
                               "a wake-up of a thread of ours came, with its number"};
  for (std::size_t i = 0; i < trials.size(); ++i) {
    CHECK(trials[i].facility == facilities[i]);
    if (trials[i].outcome == Outcome::refused) {
      WARN(trials[i].finding);
      continue;
    }
    INFO(trials[i].finding);
    CHECK(trials[i].outcome == Outcome::seen);
    CHECK_THAT(trials[i].finding, Catch::Matchers::Matches(findings[i]));
  }
  CHECK(open_files() == files);
  CHECK(procfs::threads(getpid()).size() == threads);
  CHECK(own_name() == name);
}

TEST_CASE("one event of wake-ups stays open, as the last one is dear to close", "[perf]") {
  if (try_wake_up().outcome == Outcome::refused) return;
  const auto kept = open_perf_events();
  CHECK(kept > 0);
  (void)try_wake_up();
  CHECK(open_perf_events() == kept);
}

TEST_CASE("BPF programs see what a thread of ours does, and end with their watch", "[perf]") {
  const auto files = open_files();
  const auto threads = procfs::threads(getpid()).size();
  for (const bool wakings : {true, false}) {
    Trial trial;
    auto watch = try_scheduler(trial, {.wakings = wakings, .leaving = true});
    INFO(trial.finding);
    if (trial.outcome == Outcome::refused) {
      WARN(trial.finding);
      return;
    }
    CHECK(trial.outcome == Outcome::seen);
    REQUIRE(watch);
    (void)watch->read();
    sleep_until(monotonic_now() + kMillisecond);
    CHECK(watch->read().switches.empty());  // it follows no process
    watch->processes()->sample(getpid());
    sleep_until(monotonic_now() + kMillisecond);
    CHECK(watch->read().switches.size() >= 2);
  }
  CHECK(open_files() == files);
  CHECK(procfs::threads(getpid()).size() == threads);
  const PretendBroken seam("scheduler");
  Trial broken;
  CHECK_FALSE(try_scheduler(broken, {}));
  CHECK(broken.outcome == Outcome::never_fired);
}

TEST_CASE("what is pretended to be broken never fires, and only that", "[perf]") {
  const auto [broken, finding] = GENERATE(table<Facility, std::string>({
      {Facility::sample, "opened, but no sample came"},
      {Facility::clock, "opened, but no record came"},
      {Facility::switch_record, "opened, but no record came"},
      {Facility::wake_up, "opened, but no record came"},
  }));
  const PretendBroken seam(std::string(name_of(broken)).c_str());
  for (const Trial& trial : try_all()) {
    if (trial.outcome == Outcome::refused) continue;
    INFO(name_of(trial.facility) << ": " << trial.finding);
    if (trial.facility == broken) {
      CHECK(trial.outcome == Outcome::never_fired);
      CHECK(trial.finding == finding);
    } else {
      CHECK(trial.outcome == Outcome::seen);
    }
  }
}

// Without those that only users without rights have.
std::vector<std::string> reasons_for_all(const Session& session) {
  std::vector<std::string> reasons = session.limits().reasons;
  std::erase_if(reasons,
                [](const std::string& reason) { return reason.find("kernel") != reason.npos; });
  return reasons;
}

TEST_CASE("what was tried in vain is not opened, and the limits say so", "[perf]") {
  if (!perf::test::perf_is_allowed()) return;
  perf::test::Child child([] {
    for (int i = 0; i < 20; ++i) usleep(1000);
  });
  SessionOptions options;
  for (const Facility facility : {Facility::switch_record, Facility::wake_up}) {
    options.tried.push_back({facility, Outcome::never_fired, "opened, but no record came", "", 0});
  }
  Session session(child.pid(), options);
  CHECK_FALSE(session.limits().wake_edges);
  CHECK(reasons_for_all(session) ==
        std::vector<std::string>{"switches of threads are not recorded (opened, but no record "
                                 "came): a thread that waits is taken to run",
                                 "wake-ups are not recorded: opened, but no record came"});
  SessionOptions cpu_only = options;
  cpu_only.wake_edges = cpu_only.peers = false;
  CHECK(reasons_for_all(Session(child.pid(), cpu_only)).empty());
  session.start();
  child.go();
  std::vector<Event> events;
  REQUIRE(perf::test::drain_until(session, events,
                                  [&](const auto&) { return !session.target_alive(); }));
  CHECK(perf::test::only<SwitchEvent>(events).empty());
  CHECK(perf::test::only<WakeEvent>(events).empty());
}

}  // namespace causalctl::perf
