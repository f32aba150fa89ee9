#include "controller/base/cpu_limits.h"

#include <catch2/catch.hpp>

namespace causalctl {

TEST_CASE("a quota may be that of any cgroup above, of both versions", "[base]") {
  constexpr const char* mounts =
      "30 23 0:26 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755\n"
      "31 30 0:27 / /sys/fs/cgroup/unified rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
      "32 30 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
      "33 30 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
  const CpuStats stats = cpu_stats("4:memory:/other\n3:cpu,cpuacct:/\n0::/pods/one\n", mounts);
  CHECK(stats.files == std::vector<std::string>{"/sys/fs/cgroup/unified/pods/one/cpu.stat",
                                                "/sys/fs/cgroup/unified/pods/cpu.stat",
                                                "/sys/fs/cgroup/unified/cpu.stat",
                                                "/sys/fs/cgroup/cpu/cpu.stat"});
  CHECK(stats.complete);
}

TEST_CASE("where a part of the hierarchy is not mounted its quotas are not known", "[base]") {
  constexpr const char* part = "31 30 0:27 /pods /cgroup rw - cgroup2 cgroup2 rw\n";
  SECTION("it is mounted from further down") {
    const CpuStats stats = cpu_stats("0::/pods/one\n", part);
    CHECK(stats.files == std::vector<std::string>{"/cgroup/one/cpu.stat", "/cgroup/cpu.stat"});
    CHECK_FALSE(stats.complete);
  }
  SECTION("and the process is not there") {
    const CpuStats stats = cpu_stats("0::/services\n", part);
    CHECK(stats.files.empty());
    CHECK_FALSE(stats.complete);
  }
  SECTION("the process is outside of our namespace") {
    const CpuStats stats =
        cpu_stats("0::/../other\n", "31 30 0:27 / /cgroup rw - cgroup2 cgroup2 rw\n");
    CHECK(stats.files.empty());
    CHECK_FALSE(stats.complete);
  }
  SECTION("none is mounted") { CHECK_FALSE(cpu_stats("0::/one\n", "garbage\n").complete); }
}

TEST_CASE("how often a quota held a cgroup up", "[base]") {
  const auto some =
      parse_quota_periods("usage_usec 5\nnr_periods 12\nnr_throttled 7\nthrottled_usec 99\n");
  CHECK(some.all == 12);
  CHECK(some.used_up == 7);
  CHECK(parse_quota_periods("usage_usec 5\nuser_usec 2\n").all == 0);
  CHECK(parse_quota_periods("").used_up == 0);
}

TEST_CASE("what a quota grants", "[base]") {
  CHECK(parse_quota("50000 100000\n") == 0.5);
  CHECK(parse_quota("250000\n 100000\n") == 2.5);
  CHECK_FALSE(parse_quota("max 100000\n"));
  CHECK_FALSE(parse_quota("-1 100000"));  // version 1: no quota
  CHECK_FALSE(parse_quota("50000 0"));
  CHECK_FALSE(parse_quota(""));
}

}  // namespace causalctl
