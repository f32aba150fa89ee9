#include "controller/perf/hints.h"

#include <catch2/catch.hpp>
#include <cerrno>

#include "controller/perf/attrs.h"

namespace causalctl::perf {

using Catch::Matchers::Contains;

TEST_CASE("A failed perf call is answered with what to do about it", "[perf]") {
  const auto sampling = sampling_attr({});
  auto user_sampling = sampling_attr({.kernel = false});
  const auto tracepoint = waking_attr(1);
  const auto sigtrap = sigtrap_attr(0x1000, 10'000);
  perf_event_attr breakpoint{};
  breakpoint.type = PERF_TYPE_BREAKPOINT;
  const SystemFacts facts{.paranoid = 3, .mlock_kb = 516, .descriptors = 1024};
  const auto open = [&](int error_number, const perf_event_attr& attr) {
    return hint_for(Call::open, error_number, attr, facts);
  };

  REQUIRE_THAT(open(EACCES, sampling), Contains("perf_event_paranoid") && Contains("it is 3") &&
                                           Contains("CAP_PERFMON") && Contains("at most 1"));
  REQUIRE_THAT(open(EPERM, user_sampling), Contains("at most 2"));
  REQUIRE_THAT(hint_for(Call::open, EACCES, user_sampling, {.paranoid = 2}),
               !Contains("paranoid") && Contains("may not read"));
  REQUIRE_THAT(open(EPERM, tracepoint), Contains("perf_event_paranoid=-1"));
  REQUIRE_THAT(open(EMFILE, sampling), Contains("ulimit -n") && Contains("1024"));
  REQUIRE_THAT(open(ENOSPC, breakpoint), Contains("breakpoint registers"));
  REQUIRE_THAT(open(EINVAL, sigtrap), Contains("5.13"));
  REQUIRE_THAT(open(E2BIG, sigtrap), Contains("5.13"));
  REQUIRE_THAT(open(EOPNOTSUPP, breakpoint), Contains("uprobe"));
  REQUIRE_THAT(open(EINVAL, sampling), Contains("4.8"));
  REQUIRE_THAT(open(EBUSY, breakpoint), Contains("another tool"));
  REQUIRE_THAT(open(ENOSYS, sampling), Contains("CONFIG_PERF_EVENTS"));
  REQUIRE_THAT(hint_for(Call::map, EPERM, sampling, facts),
               Contains("perf_event_mlock_kb") && Contains("516") && Contains("RLIMIT_MEMLOCK"));
  REQUIRE(hint_for(Call::control, EIO, sampling, facts).empty());
}

TEST_CASE("All events share clock and identification, so that they may share a ring", "[perf]") {
  perf_event_attr breakpoint{};
  breakpoint.type = PERF_TYPE_BREAKPOINT;
  breakpoint.sample_period = 100;
  for (const auto& attr : {bookkeeping_attr(), sampling_attr({}), waking_attr(1),
                           visit_attr(breakpoint), sigtrap_attr(0, 1)}) {
    REQUIRE((attr.sample_type & kCommonSampleType) == kCommonSampleType);
    REQUIRE(attr.use_clockid == 1);
    REQUIRE(attr.clockid == CLOCK_MONOTONIC);
    REQUIRE(attr.sample_id_all == 1);
    REQUIRE(attr.disabled == 1);
    REQUIRE(attr.size == sizeof(attr));
  }
  REQUIRE(visit_attr(breakpoint).sample_period == 1);
  REQUIRE(visit_attr(breakpoint).exclude_kernel == 1);
  REQUIRE(sigtrap_attr(0x1234, 1).sig_data == 0x1234);
  REQUIRE(sigtrap_attr(0x1234, 1).remove_on_exec == 1);
  REQUIRE(sampling_attr({.call_chain_depth = 0}).sample_max_stack == 1);
}

}  // namespace causalctl::perf
