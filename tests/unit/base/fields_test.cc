#include "controller/base/fields.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <optional>

#include "controller/base/run_totals.h"

namespace causalctl {

namespace {

struct Part {
  int most = 0;
  static constexpr auto fields() { return std::tuple{Field("most", &Part::most, kLargest)}; }
};

struct Whole {
  std::uint64_t count = 0;
  bool any = false;
  std::optional<double> known;
  Part part;
  static constexpr auto fields() {
    return std::tuple{Field("count", &Whole::count), Field("any", &Whole::any),
                      Field("known", &Whole::known), Field("", &Whole::part)};
  }
};

enum class Color : std::uint8_t { none, red };
constexpr auto names_of(Color) { return std::array<std::string_view, 2>{"", "red"}; }

}  // namespace

TEST_CASE("structs are merged as their rows say", "[base]") {
  Whole all{1, false, 0.5, {7}};
  merge(all, Whole{2, true, 0.75, {5}});
  CHECK(all.count == 3);
  CHECK(all.any);
  CHECK(all.known == 0.5);
  CHECK(all.part.most == 7);
  merge(all, Whole{0, false, {}, {9}});
  CHECK(all.any);
  CHECK(all.part.most == 9);
}

TEST_CASE("what sums have grown by", "[base]") {
  const Whole since = growth(Whole{5, true, 0.5, {9}}, Whole{2, true, 0.25, {4}});
  CHECK(since.count == 3);
  CHECK(since.any);
  CHECK(since.known == 0.5);
  CHECK(since.part.most == 9);
}

TEST_CASE("values have names", "[base]") {
  CHECK(name_of(Color::red) == "red");
  CHECK(value_of<Color>("red") == Color::red);
  CHECK(value_of<Color>("pink") == Color::none);
  CHECK(name_of(EndReason::log_failed) == "log-failed");
  CHECK(value_of<DigestResult>("changed") == DigestResult::changed);
}

TEST_CASE("each loss of a run counts in the sum of several", "[base]") {
  Losses all;
  Losses one;
  std::uint64_t next = 0;
  for_each_row(Losses::fields(), [&](const auto& row) { one.*row.member = ++next; });
  merge(all, one);
  merge(all, one);
  next = 0;
  for_each_row(Losses::fields(), [&](const auto& row) { CHECK(all.*row.member == 2 * ++next); });
  CHECK(sizeof(Losses) == next * sizeof(std::uint64_t));  // each member has a row
}

TEST_CASE("of several runs the largest overhead counts, a slowdown with its own interval",
          "[base]") {
  Overhead all{0.02, 0.01, 0.03, 0.005, 12, 0.5, 20, 31, 32, 21, {33, 34, 37}};
  merge(all, Overhead{{}, {}, {}, 0.5, 11, 0.25, 30, 0, 40, 22, {11, 44, 0}});
  CHECK(all.slowdown == 0.02);
  CHECK(all.controller_cpu_share == 0.5);
  CHECK(all.sample_ns == 12);
  CHECK(all.attach_stop_ns == 30);
  CHECK(all.sample_to_pause_p50_ns == 31);
  CHECK(all.sample_to_pause_p99_ns == 40);
  CHECK(all.period_ns == 22);
  CHECK(all.pause_cost.cost_ns == 33);
  CHECK(all.pause_cost.error_ns == 44);
  merge(all, Overhead{0.05, {}, {}, 0.03, 0, 0, 0, 0, 0, 0, {}});
  CHECK(all.slowdown == 0.05);
  CHECK_FALSE(all.slowdown_low);
  CHECK_FALSE(all.slowdown_high);
}

}  // namespace causalctl
