#include "controller/base/idle_core.h"

#include <catch2/catch.hpp>

namespace causalctl {
namespace {

// Two cores after a second (100 ticks) each, in which they idled for these numbers of ticks.
struct TwoCores {
  std::vector<CoreTimes> times = {{0, 0, 0}, {1, 0, 0}};
  std::vector<CoreTimes> after(std::uint64_t idle_0, std::uint64_t idle_1) {
    times[0].idle += idle_0;
    times[1].idle += idle_1;
    for (CoreTimes& each : times) each.all += 100;
    return times;
  }
};

}  // namespace

TEST_CASE("counters of /proc/stat, iowait being idle and guest time counted once", "[base]") {
  const auto times = parse_core_times(
      "cpu  30 2 3 40 5 6 7 8 9 1\n"
      "cpu0 10 1 1 20 2 3 4 5 9 1\n"
      "cpu12 1 2 3 4 5 6 7 8 0 0\n"
      "cpu13 1 2\n"
      "intr 5\n");
  REQUIRE(times.size() == 2);
  CHECK((times[0].core == 0 && times[0].idle == 22 && times[0].all == 46));
  CHECK((times[1].core == 12 && times[1].idle == 9 && times[1].all == 36));
}

TEST_CASE("the time for which some cores were idle", "[base]") {
  const std::vector<CoreTimes> now = {{0, 150, 400}, {1, 250, 400}, {3, 50, 400}};
  CHECK(idle_time(now, {1, 3}, 100) == 3 * kSecond);
  // A core is offline, or not shown in a container.
  CHECK(idle_time(now, {1, 2}, 100) == std::nullopt);
}

TEST_CASE("an idle core is kept while it is idle", "[base]") {
  TwoCores cores;
  IdleCore idle(cores.times);
  CHECK(idle.poll(cores.after(2, 95)) == 1);
  // The other core is more idle, which is no reason to move.
  CHECK(idle.poll(cores.after(99, 85)) == 1);
  CHECK(idle.poll(cores.after(90, 5)) == 0);  // the thread of the target moved
  CHECK(idle.poll(cores.after(30, 30)) == std::nullopt);
  CHECK(idle.poll(cores.after(10, 95)) == 1);
}

TEST_CASE("where no core was idle at first, none is taken later", "[base]") {
  TwoCores cores;
  IdleCore idle(cores.times);
  CHECK_FALSE(idle.hopeless());
  CHECK(idle.poll(cores.after(0, 60)) == std::nullopt);
  CHECK(idle.hopeless());
  CHECK(idle.poll(cores.after(0, 100)) == std::nullopt);
}

}  // namespace causalctl
