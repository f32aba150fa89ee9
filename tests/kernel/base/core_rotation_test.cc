#include "controller/base/core_rotation.h"

#include <sched.h>

#include <catch2/catch.hpp>
#include <map>

namespace causalctl {
namespace {

cpu_set_t allowed() {
  cpu_set_t cores;
  REQUIRE(sched_getaffinity(0, sizeof(cores), &cores) == 0);
  return cores;
}

}  // namespace

TEST_CASE("wake-ups take the allowed cores in turn, and the thread is free afterwards", "[base]") {
  const cpu_set_t before = allowed();
  const auto cores = static_cast<std::size_t>(CPU_COUNT(&before));
  if (cores < 2) {
    WARN("one core only: nothing to take in turn");
    return;
  }
  {
    CoreRotation clock(1);
    std::map<int, int> turns;
    // There are as many turns as cores, each 25 ms long with a wake-up every 5 ms.
    const Nanoseconds start_ns = clock.now();
    int last = -1;
    for (int i = 1; i <= static_cast<int>(cores) * 2 * 6; ++i) {
      clock.sleep_until(start_ns + i * 5 * kMillisecond);
      const int core = sched_getcpu();
      if (core != last) ++turns[core];
      last = core;
    }
    CHECK(turns.size() == cores);
  }
  const cpu_set_t after = allowed();
  CHECK(CPU_EQUAL(&before, &after) != 0);
}

}  // namespace causalctl
