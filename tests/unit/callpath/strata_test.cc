// What is known of calls of which some pieces of time were counted.
#include "controller/callpath/record/strata.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "controller/callpath/run/event_cost.h"

namespace causalctl::callpath {
namespace {

Stratum piece_of(std::uint64_t calls, Nanoseconds stratum_ns, double cost_share = 0) {
  return {calls, Thinning::kPiece, stratum_ns, cost_share};
}

constexpr Nanoseconds kTenPieces = 10 * Thinning::kPiece;

TEST_CASE("strata that are all counted have no gaps", "[callpath][counts]") {
  Strata strata;
  CHECK(strata.in_gaps().most == 0);
  for (std::uint64_t i = 0; i < 9; ++i) strata.add(piece_of(i, Thinning::kPiece));
  CHECK(strata.calls() == 36);
  CHECK(strata.in_gaps().calls == 0);
  CHECK(strata.in_gaps().most == 0);
}

TEST_CASE("a stratum has the rate of its piece", "[callpath][counts]") {
  Strata strata;
  for (int i = 0; i < 4; ++i) strata.add(piece_of(10, kTenPieces));
  CHECK(strata.calls() == 40);
  CHECK(strata.in_gaps().calls == Approx(360));
  CHECK(strata.in_gaps().least == Approx(360));
  CHECK(strata.in_gaps().most == Approx(360));
  CHECK(strata.in_gaps(kTenPieces).calls == Approx(460));
  CHECK(strata.in_gaps(-kTenPieces).calls == Approx(270));
  strata.add(piece_of(0, kTenPieces));
  CHECK(strata.in_gaps().calls == Approx(360));
  CHECK(strata.in_gaps().least < 200);
  CHECK(strata.in_gaps().most > 500);
}

TEST_CASE("one stratum tells next to nothing", "[callpath][counts]") {
  Strata strata;
  strata.add(piece_of(10, kTenPieces));
  CHECK(strata.in_gaps().least == 0);
  CHECK(strata.in_gaps().most > 1000);
}

TEST_CASE("what comes after the last piece has the rate of all strata", "[callpath][counts]") {
  Strata strata;
  for (int i = 0; i < 9; ++i) strata.add(piece_of(0, Thinning::kPiece));
  strata.add(piece_of(100, Thinning::kPiece));  // too dense to go on
  CHECK(strata.in_gaps(kTenPieces).calls == Approx(100));
  CHECK(strata.in_gaps(kTenPieces).least == 0);
  CHECK(strata.in_gaps(kTenPieces).most > 1000);
}

TEST_CASE("traps may have held calls back where they are dense", "[callpath][counts]") {
  Strata strata;
  for (int i = 0; i < 4; ++i) strata.add(piece_of(0, kTenPieces));
  const double most = strata.in_gaps().most;
  for (int i = 0; i < 4; ++i) strata.add(piece_of(0, kTenPieces, 0.2));
  CHECK(strata.in_gaps().most == most);
  Strata dense;
  for (int i = 0; i < 4; ++i) dense.add(piece_of(10, kTenPieces, 0.2));
  CHECK(dense.in_gaps().calls == Approx(360));
  CHECK(dense.in_gaps().most == Approx(360 / 0.7));
}

// Calls a second, at a time in seconds.
using RateAt = std::function<double(double)>;
using Generator = std::mt19937_64;

double chance(Generator& random) { return std::uniform_real_distribution<double>(0, 1)(random); }

// Of what was counted for a while, as a share of the truth.
struct Counted {
  double calls = 0, least = 0, most = 0;
  double cost_share = 0;
};

// Counts calls of 30 us each, of which they may cost 3 %, for a while. A uprobe takes 50 ms to
// close. The calls are in steps of at most 2 ms, of which some are late.
Counted counted_for(double length_s, const RateAt& rate, Generator& random) {
  constexpr Nanoseconds kCost = 30 * kMicrosecond;
  constexpr Nanoseconds kClose = 50 * kMillisecond;
  Thinning thinning(kCost, 0.03, random());
  Strata strata;
  std::uint64_t all = 0, seen = 0, in_piece = 0;
  Nanoseconds time_ns = 0, stratum_ns = 0, piece_ns = 0, closed_ns = -kSecond;
  bool is_open = true;
  while (static_cast<double>(time_ns) < length_s * kSecond) {
    const Nanoseconds due_ns = std::max<Nanoseconds>(thinning.next_ns() - time_ns, 1);
    const auto late_ns = static_cast<Nanoseconds>(0.3 * kMillisecond * chance(random));
    const Nanoseconds step_ns = std::min(due_ns, 2 * kMillisecond) + late_ns;
    const double mean = rate(static_cast<double>(time_ns + step_ns / 2) / kSecond) *
                        static_cast<double>(step_ns) / kSecond;
    const auto fresh = mean > 0 ? std::poisson_distribution<std::uint64_t>(mean)(random) : 0;
    time_ns += step_ns;
    all += fresh;
    seen += is_open ? fresh : 0;
    in_piece += fresh;
    const auto step = thinning.step(is_open ? fresh : 0, time_ns, time_ns - closed_ns > kClose);
    if (step.ended) {
      const Nanoseconds end_ns = time_ns + step.rest_ns;
      strata.add({in_piece, time_ns - piece_ns, end_ns - stratum_ns, 0});
      stratum_ns = end_ns;
    }
    if (step.began) {
      piece_ns = time_ns;
      in_piece = 0;
    }
    if (is_open && !step.is_open) closed_ns = time_ns;
    is_open = step.is_open;
  }
  // What comes after the last piece has its rate.
  const auto [calls, least, most] = strata.in_gaps(time_ns - stratum_ns);
  const auto counted = static_cast<double>(strata.calls());
  const double truth = std::max(1.0, static_cast<double>(all));
  return {(counted + calls) / truth, (counted + least) / truth, (counted + most) / truth,
          static_cast<double>(seen) * kCost / static_cast<double>(time_ns)};
}

using Load = std::function<RateAt(Generator&, double length_s)>;

Load steady(double rate) {
  return [=](Generator&, double) { return [=](double) { return rate; }; };
}

Load in_part_of_each(double period_s, double part_s, double rate) {
  return [=](Generator& random, double) {
    const double begin_s = period_s * chance(random);
    return [=](double at_s) { return std::fmod(at_s + begin_s, period_s) < part_s ? rate : 0; };
  };
}

Load in_bursts(double burst_s, double per_second, double rate) {
  return [=](Generator& random, double length_s) {
    std::vector<double> begins;
    double at_s = -burst_s;
    while ((at_s += std::exponential_distribution<double>(per_second)(random)) < length_s) {
      begins.push_back(at_s);
    }
    return [=](double now_s) {
      const auto next = std::upper_bound(begins.begin(), begins.end(), now_s);
      return next != begins.begin() && now_s - *(next - 1) < burst_s ? rate : 0;
    };
  };
}

Load ramp(double from, double to) {
  return [=](Generator&, double length_s) {
    return [=](double at_s) { return from + (to - from) * at_s / length_s; };
  };
}

struct Case {
  const char* name;
  Load load;
  double most_width;  // of the range, in 30 s, on average
};

const Case kCases[] = {
    {"2,000 a second", steady(2000), 0.1},
    {"20,000 a second", steady(20'000), 0.1},
    {"20,000 in 0.3 of 1 s", in_part_of_each(1, 0.3, 20'000), 0.7},
    {"7,000 in 0.3 of 1 s", in_part_of_each(1, 0.3, 7000), 0.4},
    {"20,000 in 0.1 of 0.3 s", in_part_of_each(0.3, 0.1, 20'000), 0.8},
    {"30,000 in 5 of 20 ms", in_part_of_each(0.02, 0.005, 30'000), 0.5},
    {"30,000 in 20 ms, 8 times a second", in_bursts(0.02, 8, 30'000), 1.1},
    {"30,000 in 20 ms, 3 times a second", in_bursts(0.02, 3, 30'000), 1.1},
    {"from 0 to 20,000", ramp(0, 20'000), 0.1},
    {"from 20,000 to 0", ramp(20'000, 0), 0.1},
};

TEST_CASE("the range of a rate holds it, however the calls are distributed", "[callpath][counts]") {
  Generator random(1);  // NOLINT(cert-msc51-cpp): the same each time
  for (const double length_s : {5.0, 30.0}) {
    for (const Case& each : kCases) {
      const int runs = 80;
      double sum = 0, squares = 0, width = 0, cost = 0;
      int held = 0;
      for (int i = 0; i < runs; ++i) {
        const Counted one = counted_for(length_s, each.load(random, length_s), random);
        held += one.least <= 1 && 1 <= one.most ? 1 : 0;
        sum += one.calls;
        squares += (one.calls - 1) * (one.calls - 1);
        width += one.most - one.least;
        cost += one.cost_share;
      }
      const double bias = sum / runs - 1;
      const double error = std::sqrt(squares) / runs;  // of the mean
      CAPTURE(each.name, length_s, held, bias, error, width / runs, cost / runs);
      CHECK(held >= 0.9 * runs);
      CHECK(std::abs(bias) < 0.01 + 3 * error);
      CHECK(cost / runs < (length_s < 10 ? 0.045 : 0.034));
      if (length_s > 10) CHECK(width / runs < each.most_width);
    }
  }
}

}  // namespace
}  // namespace causalctl::callpath
