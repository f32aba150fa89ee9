#include "controller/target/process.h"

#include <sched.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <latch>
#include <thread>

namespace causalctl::target {
namespace {

TEST_CASE("the usable cores are those of all threads together", "[target]") {
  cpu_set_t all;
  CPU_ZERO(&all);
  REQUIRE(sched_getaffinity(0, sizeof all, &all) == 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);

  std::latch looked(1);
  std::thread free([&looked] { looked.wait(); });
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  const int beside_a_free_one = usable_cores(getpid());
  looked.count_down();
  free.join();
  const int alone = usable_cores(getpid());
  REQUIRE(sched_setaffinity(0, sizeof all, &all) == 0);

  CHECK(beside_a_free_one == CPU_COUNT(&all));
  CHECK(alone == 1);
}

}  // namespace
}  // namespace causalctl::target
