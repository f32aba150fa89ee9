// Tests what trials report on machines that differ from this one.
#include "controller/perf/trials.h"

#include <catch2/catch.hpp>

#include "controller/base/error.h"
#include "controller/perf/kernel_time.h"
#include "controller/perf/visit_trial.h"
#include "tests/support/pretend_broken.h"

namespace causalctl::perf {

namespace {

// Sees something at the `first`th attempt and later.
Trial seen_from(int first, int& tries) {
  return try_out(Facility::sample, "nothing came", [&]() -> std::optional<std::string> {
    if (++tries < first) return std::nullopt;
    return "it came";
  });
}

}  // namespace

TEST_CASE("A try is made three times before it is given up", "[perf]") {
  const int first = GENERATE(1, 2, 3);
  int tries = 0;
  const Trial trial = seen_from(first, tries);
  CHECK(trial.facility == Facility::sample);
  CHECK(trial.is_seen());
  CHECK(trial.finding == "it came");
  CHECK(tries == first);
}

TEST_CASE("The offset of a time namespace is that of CLOCK_MONOTONIC", "[perf]") {
  CHECK(parse_monotonic_offset("monotonic  86400  7\nboottime  172800  0\n") ==
        86'400 * kSecond + 7);
  CHECK(parse_monotonic_offset("monotonic -5 500000000\nboottime 0 0\n") == -4'500'000'000);
  CHECK(parse_monotonic_offset("") == 0);
}

TEST_CASE("What never came is said", "[perf]") {
  int tries = 0;
  const Trial never = seen_from(4, tries);
  CHECK(never.outcome == Outcome::never_fired);
  CHECK(never.finding == "nothing came");
  CHECK(tries == 3);

  const PretendBroken seam("sample");
  CHECK(seen_from(1, tries).outcome == Outcome::never_fired);
}

TEST_CASE("What cannot be opened is refused, with what to do", "[perf]") {
  const Trial trial =
      try_out(Facility::wake_up, "nothing came",
              []() -> std::optional<std::string> { throw Error("it is forbidden", "be root"); });
  CHECK(trial.outcome == Outcome::refused);
  CHECK(trial.facility == Facility::wake_up);
  CHECK(trial.finding == "it is forbidden");
  CHECK(trial.hint == "be root");
}

TEST_CASE("The time of a record must lie between two readings of the clock", "[perf]") {
  constexpr Nanoseconds kMs = kMillisecond;
  CHECK(wrong_time(5 * kMs, 5 * kMs, 7 * kMs).empty());
  CHECK(wrong_time(5 * kMs, 7 * kMs, 7 * kMs).empty());
  CHECK(wrong_time(5 * kMs, 8 * kMs, 7 * kMs) ==
        "the time of a record is 3000 µs from CLOCK_MONOTONIC");
  CHECK(wrong_time(5 * kMs, 4 * kMs, 7 * kMs) ==
        "the time of a record is 1000 µs from CLOCK_MONOTONIC");
}

TEST_CASE("A way of counting must have counted every visit", "[perf]") {
  const Trial all = trial_of_visits(Facility::uprobe, 150, 150, 14'040);
  CHECK(all.facility == Facility::uprobe);
  CHECK(all.is_seen());
  CHECK(all.finding == "150 of 150 hits counted, 14.0 µs each");
  CHECK(all.cost_ns == 14'040);
  const Trial none = trial_of_visits(Facility::uprobe, 0, 150, 14'040);
  CHECK(none.outcome == Outcome::never_fired);
  CHECK(none.finding == "opened, but never fired");
  CHECK(none.cost_ns == 0);
  const auto counted = GENERATE(149U, 151U);
  const Trial some = trial_of_visits(Facility::uprobe, counted, 150, 14'040);
  CHECK(some.outcome == Outcome::never_fired);
  CHECK(some.finding ==
        "opened, but " + std::to_string(counted) + " of 150 hits only were counted");
  CHECK(some.cost_ns == 0);
}

}  // namespace causalctl::perf
