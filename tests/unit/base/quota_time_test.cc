#include "controller/base/quota_time.h"

#include <catch2/catch.hpp>

namespace causalctl {

TEST_CASE("for how long a quota held a cgroup back, in both versions", "[base]") {
  CHECK(parse_held_back("usage_usec 5\nnr_periods 12\nnr_throttled 7\nthrottled_usec 99\n") ==
        99 * kMicrosecond);
  CHECK(parse_held_back("nr_periods 2\nnr_throttled 1\nthrottled_time 81\n") == 81);
  CHECK(parse_held_back("usage_usec 5\n") == 0);
  CHECK(parse_held_back("") == 0);
}

TEST_CASE("a quota is that of several processes if their cgroups are all below it", "[base]") {
  const char* const mounts = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
  const std::string folder = "/sys/fs/cgroup/a.slice";
  using Files = std::set<std::string>;
  CHECK(common_cpu_stats({}, mounts).empty());
  CHECK(common_cpu_stats({"0::/a.slice/x\n"}, mounts).contains(folder + "/x/cpu.stat"));
  const Files both = common_cpu_stats({"0::/a.slice/x\n", "0::/a.slice/y\n"}, mounts);
  CHECK(both.contains(folder + "/cpu.stat"));
  CHECK_FALSE(both.contains(folder + "/x/cpu.stat"));
  CHECK_FALSE(both.contains(folder + "/y/cpu.stat"));
  CHECK_FALSE(common_cpu_stats({"0::/a.slice/x\n", "0::/b.slice\n"}, mounts)
                  .contains(folder + "/cpu.stat"));
}

}  // namespace causalctl
