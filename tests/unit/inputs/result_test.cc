// What the Valgrind tool writes becomes a recording.
#include "controller/inputs/run/result.h"

#include <bit>
#include <catch2/catch.hpp>
#include <string>

#include "controller/base/error.h"
#include "controller/inputs/run/collect.h"

namespace causalctl::inputs {
namespace {

// Costs of `calls` activations: 2 blocks each, 1 of their own; 20 instructions, 10 of their own.
std::string costs(unsigned calls) {
  std::string text;
  for (const unsigned each : {2U, 1U, 20U, 10U}) {
    const double squares = static_cast<double>(each) * each * calls;
    text += std::to_string(each) + " " + std::to_string(each) + " " + std::to_string(each * calls) +
            " " + std::to_string(std::bit_cast<std::uint64_t>(squares)) + " ";
  }
  return text + std::to_string(2 * calls) + " " + std::to_string(20 * calls) + " ";
}

std::string row(const std::string& key, unsigned calls, const std::string& input) {
  return "row " + key + " " + std::to_string(calls) + " " + costs(calls) + input + " \n";
}

const std::string kHead =
    "causalctl-inputs 1\ntotal 100 1000 \nlost 3 \nmodule 0 [anonymous]\nmodule 1 /a\\n\\\\b c\n"
    "routine 1 0 4096 \nroutine 2 1 64 \nroutine 3 1 128 \nthread 1 \n";

std::string whole(const std::string& rows, bool final = true) {
  return kHead + rows + (final ? "end 1\n" : "end 0\n");
}

TEST_CASE("a result of the Valgrind tool is read") {
  const Result result = parse_result(whole(row("2 1 5 7", 4, "6 2")));
  CHECK(result.final);
  CHECK(result.total == std::array<std::uint64_t, 2>{100, 1000});
  CHECK(result.lost == 3);
  CHECK(result.modules == std::vector<std::string>{"[anonymous]", "/a\n\\b c"});
  REQUIRE(result.rows.size() == 1);
  const ResultRow& read = result.rows[0];
  CHECK(read.routine == 2);
  CHECK(read.rms == 5);
  CHECK(read.trms == 7);
  CHECK(read.row.calls == 4);
  CHECK(read.row.own[1].sum == 40);
  CHECK(read.row.cost[1].sum_of_squares == 1600);
  CHECK(read.row.outermost == std::array<std::uint64_t, 2>{8, 80});
  CHECK(read.row.external == 6);
  CHECK(read.row.thread == 2);
  CHECK_FALSE(parse_result(whole("", false)).final);
}

TEST_CASE("a result that is cut anywhere is refused") {
  const std::string text = whole(row("2 1 5 7", 4, "6 2"));
  for (std::size_t size = 0; size + 1 < text.size(); ++size) {
    CHECK_THROWS_AS(parse_result(text.substr(0, size)), Error);
  }
  CHECK_THROWS_AS(parse_result(text + "row"), Error);
  CHECK_THROWS_AS(parse_result("causalctl-inputs 2" + text.substr(18)), Error);
}

TEST_CASE("the beginning of a result tells the blocks") {
  CHECK(blocks_in_head(kHead) == 100);
  CHECK(blocks_in_head("causalctl-inputs 1\ntotal 10") == std::nullopt);
  CHECK(blocks_in_head("") == std::nullopt);
}

TEST_CASE("rows of pairs of sizes become rows of each metric") {
  Recording recording;
  recording.command = {"/bin/prog"};
  Collector collector(recording);
  collector.take(parse_result(
      whole(row("2 1 5 7", 4, "6 2") + row("2 1 5 9", 1, "4 0") + row("2 1 6 7", 2, "0 1"))));
  REQUIRE(recording.profiles.size() == 1);
  const auto& trms = recording.profiles[0].rows[static_cast<std::size_t>(Metric::trms)];
  const auto& rms = recording.profiles[0].rows[static_cast<std::size_t>(Metric::rms)];
  REQUIRE(trms.size() == 2);
  CHECK(trms[0].size == 7);
  CHECK(trms[0].calls == 6);
  CHECK(trms[0].external == 6);
  CHECK(trms[0].thread == 3);
  CHECK(trms[0].cost[0].sum == 12);
  CHECK(trms[1].size == 9);
  REQUIRE(rms.size() == 2);
  CHECK(rms[0].size == 5);
  CHECK(rms[0].calls == 5);
  CHECK(rms[0].external + rms[0].thread == 0);
  CHECK(rms[0].cost[0].sum_of_squares == 20);
  CHECK(recording.threads.at(0).name == "prog");
  CHECK(recording.routines.size() == 1);  // the others have not returned

  collector.take(parse_result(whole(row("2 1 5 7", 5, "6 2") + row("1 1 0 0", 1, "0 0"))));
  CHECK(recording.routines.size() == 2);
  CHECK(recording.routines[0].offset == 64);  // its number stays
  CHECK(recording.routines[1].offset == 4096);
}

}  // namespace
}  // namespace causalctl::inputs
