// Throughput in a window in which records of visits were lost is right, by the kernel's own counts.
#include "controller/compare/window.h"

#include <catch2/catch.hpp>

#include "controller/base/clock.h"
#include "tests/kernel/progress/probed_child.h"

namespace causalctl::compare {

namespace {

// The ring of a thread has 128 KiB, which is room for less than 10,000 visits.
constexpr unsigned kTooMany = 20000;
constexpr unsigned kFew = 100;

config::Progress parent_asked() {
  config::Progress progress;
  progress.throughput = {"syscall:getppid"};
  return progress;
}

}  // namespace

TEST_CASE("what records have lost the kernel has counted", "[compare]") {
  probed::Child child;
  Window window(parent_asked(), child.pid(), 1);
  child.hit(kFew);  // before it begins
  window.begin();
  const Nanoseconds begin_ns = monotonic_now();
  child.hit(kTooMany);  // and no collect() follows
  const double least_s = static_cast<double>(monotonic_now() - begin_ns) / kSecond;
  const std::vector<Measured> values = window.end();
  const double most_s = static_cast<double>(monotonic_now() - begin_ns) / kSecond;
  CAPTURE(window.records_lost());
  REQUIRE(window.records_lost() > 0);
  REQUIRE(window.units() == kTooMany);
  REQUIRE(values.size() == 1);
  REQUIRE(values[0].metric == Metric{"syscall:getppid", report::MetricKind::throughput});
  REQUIRE(values[0].value >= least_s / kTooMany);
  REQUIRE(values[0].value <= 1.01 * most_s / kTooMany);

  // The kernel reports that loss only now; the count is right nevertheless.
  window.begin();
  child.hit(kFew);
  window.end();
  REQUIRE(window.units() == kFew);
}

TEST_CASE("a window in which all was collected has lost nothing", "[compare]") {
  probed::Child child;
  Window window(parent_asked(), child.pid(), 1);
  window.begin();
  for (int i = 0; i < 10; ++i) {
    child.hit(kFew);
    window.collect();
  }
  window.end();
  REQUIRE(window.records_lost() == 0);
  REQUIRE(window.units() == 10 * kFew);
}

}  // namespace causalctl::compare
