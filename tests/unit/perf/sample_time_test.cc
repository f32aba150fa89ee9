#include "controller/perf/sample_time.h"

#include <catch2/catch.hpp>
#include <vector>

namespace causalctl::perf {
namespace {

// A thread whose pieces of work take 100 ns, and the one in which it is sampled `sample_ns` more;
// the next thousand take 2 ns more each.
struct Worked {
  std::vector<Piece> pieces;
  std::vector<Nanoseconds> samples_ns;
};

Worked work(int samples, Nanoseconds period_ns, Nanoseconds sample_ns) {
  Worked worked;
  Nanoseconds now_ns = 0;
  int cold = 0;
  Nanoseconds next_ns = period_ns / 2;
  while (worked.samples_ns.size() < static_cast<std::size_t>(samples) || now_ns < next_ns) {
    now_ns += cold-- > 0 ? 102 : 100;
    if (now_ns > next_ns && worked.samples_ns.size() < static_cast<std::size_t>(samples)) {
      worked.samples_ns.push_back(next_ns);
      now_ns += sample_ns;
      next_ns += period_ns;
      cold = 1000;
    }
    worked.pieces.push_back({now_ns, now_ns});
  }
  return worked;
}

TEST_CASE("what a sample takes is its interrupt and the slower work behind it",
          "[perf][sample_time]") {
  const Worked worked = work(40, kMillisecond, 12'000);
  const auto time_ns = excess_by_samples(worked.pieces, worked.samples_ns);
  REQUIRE(time_ns);
  CHECK(time_ns->value == Approx(14'000).margin(200));
  CHECK(time_ns->low <= time_ns->value);
  CHECK(time_ns->high >= time_ns->value);
}

TEST_CASE("the time for which another thread had the core is not the sample's",
          "[perf][sample_time]") {
  Worked worked = work(40, kMillisecond, 12'000);
  const Nanoseconds lost_ns = worked.samples_ns[7] + 20'000;
  for (Piece& piece : worked.pieces) {
    if (piece.end_ns > lost_ns) piece.end_ns += 4 * kMillisecond;
  }
  for (auto& sample_ns : worked.samples_ns) {
    if (sample_ns > lost_ns) sample_ns += 4 * kMillisecond;
  }
  CHECK(excess_by_samples(worked.pieces, worked.samples_ns)->value == Approx(14'000).margin(200));
}

TEST_CASE("an interrupt that takes long is not the sample's", "[perf][sample_time]") {
  Worked worked = work(40, kMillisecond, 12'000);
  for (Piece& piece : worked.pieces) {
    if (piece.end_ns > worked.samples_ns[7] + 20'000) piece.cpu_ns += 300'000;
  }
  CHECK(excess_by_samples(worked.pieces, worked.samples_ns)->value == Approx(14'000).margin(200));
}

TEST_CASE("samples that are too frequent to be told apart, and too few", "[perf][sample_time]") {
  const Worked frequent = work(40, 150 * kMicrosecond, 12'000);
  CHECK_FALSE(excess_by_samples(frequent.pieces, frequent.samples_ns));
  const Worked few = work(9, kMillisecond, 12'000);
  CHECK_FALSE(excess_by_samples(few.pieces, few.samples_ns));
  CHECK_FALSE(excess_by_samples({}, {}));
}

}  // namespace
}  // namespace causalctl::perf
