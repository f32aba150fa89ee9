#include "controller/inputs/record/log_read.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "controller/base/error.h"
#include "tests/unit/inputs/logs.h"

namespace causalctl::inputs {
namespace {

using Catch::Contains;

ReadLog read(const std::string& text) { return parse_logs({{"inputs.jsonl", text}}); }

// The log of a run with one routine, and one more line.
std::string with_line(const std::string& line) {
  Recording recording = test::empty_recording("r");
  test::add_routine(recording, "f");
  return test::log_of(recording) + line + "\n";
}

// A line with one row.
std::string points(const std::string& row) {
  return R"({"type":"points","run":"r","routine":0,"thread":0,"metric":"trms","rows":[[)" + row +
         "]]}";
}

const std::string kCosts = "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1";

// Reads a log that is refused, and returns the error.
std::string refusal(const std::string& line) {
  try {
    read(with_line(line));
  } catch (const Error& error) {
    return error.what();
  }
  return "it was read";
}

}  // namespace

TEST_CASE("Input log: what was recorded is read", "[inputs]") {
  Recording recording = test::quadratic_program();
  test::add_call(recording, 1, 1, {50, 20, 70, 60, false, 10, 20});
  recording.events_lost = 3;
  const ReadLog log = read(test::log_of(recording));
  CHECK(log.warnings.empty());
  REQUIRE(log.runs.size() == 1);
  const Recording& run = log.runs.front();
  CHECK(run.run == recording.run);
  CHECK(run.command == recording.command);
  CHECK(run.started_ns == recording.started_ns);
  CHECK(run.total == recording.total);
  CHECK(run.events_lost == 3);
  REQUIRE(run.end);
  CHECK(run.end->reason == "exited");
  CHECK(run.routines.at(1).function == "sort_rows");
  CHECK(run.routines.at(1).offset == 16);
  CHECK(run.threads.at(1).name == "worker");
  REQUIRE(run.profiles.size() == recording.profiles.size());
  // Both texts have the same order, as profiles and sizes are sorted.
  std::sort(recording.profiles.begin(), recording.profiles.end(),
            [](const RoutineProfile& a, const RoutineProfile& b) {
              return std::pair(a.routine, a.thread) < std::pair(b.routine, b.thread);
            });
  CHECK(test::log_of(run) == test::log_of(recording));
}

TEST_CASE("Input log: points of one size add up", "[inputs]") {
  const std::string first = points("5,2,3,4,7,25,1,2,3,5,12,16,28,400,4,8,12,80,7,28,1,2");
  const std::string second = points("5,1,2,2,2,4,1,1,1,1,8,8,8,64,4,4,4,16,0,0,0,3");
  const ReadLog log = read(with_line(first + "\n" + second));
  const SizeRow& row = log.runs.at(0).profiles.at(0).rows[0].at(0);
  CHECK(row.calls == 3);
  CHECK(row.cost[0].min == 2);
  CHECK(row.cost[0].max == 4);
  CHECK(row.cost[0].sum == 9);
  CHECK(row.cost[0].sum_of_squares == 29);
  CHECK(row.own[1].sum == 16);
  CHECK(row.outermost[0] == 7);
  CHECK(row.outermost[1] == 28);
  CHECK(row.external == 1);
  CHECK(row.thread == 5);
}

TEST_CASE("Input log: runs are told apart, and may be cut off", "[inputs]") {
  const Recording one = test::quadratic_program();
  Recording two = one;
  two.run = "other";
  two.end.reset();
  const std::string text = test::log_of(one) + test::log_of(two);
  CHECK(read(text).runs.size() == 2);
  CHECK_FALSE(read(text).runs.at(1).end);
  // Wherever a log is cut, what is before the cut is read.
  const std::string whole = test::log_of(one);
  for (std::size_t size = 0; size < whole.size(); size += 97) {
    const ReadLog log = read(whole.substr(0, size));
    CHECK(log.runs.size() <= 1);
    if (!log.runs.empty()) CHECK_FALSE(log.runs.front().end);
  }
}

TEST_CASE("Input log: what cannot be is refused", "[inputs]") {
  CHECK(refusal(points("1,1," + kCosts + ",0,0")) == "it was read");
  const auto [line, error] = GENERATE_COPY(table<std::string, std::string>({
      {points("1,1," + kCosts + ",0"), "has not 22 numbers"},
      {points("1,0," + kCosts + ",0,0"), "no activation"},
      {points("-1,1," + kCosts + ",0,0"), "not a whole number"},
      {points("1,1," + kCosts + ",1,1"), "larger than the size"},
      {points("1,1,2,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,0,0"), "the mean of a cost"},
      {points("1,2,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,0,0"), "the mean of a cost"},
      {points("1,1,1,1,1,1,2,2,2,4,1,1,1,1,1,1,1,1,1,1,0,0"), "larger than the cost"},
      {points("1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2,1,0,0"), "larger than the cost"},
      {points("1,1,1,1,1,-1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,0,0"), "sum of squares"},
      {points("1,1,1,1,1,1.7e308,1,1,1,1.7e308,1,1,1,1,1,1,1,1,1,1,0,0"), "squares add up"},
      {points("1,18446744073709551615," + kCosts + ",0,0"), "the mean"},
      {points("4611686018427387904,1," + kCosts + ",0,0"), "larger than any memory"},
      {points("1,1,9223372036854775807,9223372036854775807,9223372036854775807,1,1,1,1,1,1,1,1,1,"
              "1,1,1,1,1,1,0,0"),
       "add up to more"},
      {points("4611686018427387903,1," + kCosts + ",9223372036854775807,9223372036854775807"),
       "add up to more"},
      {R"({"type":"points","run":"r","routine":1,"thread":0,"metric":"trms","rows":[]})",
       "there is no routine 1"},
      {R"({"type":"points","run":"r","routine":0,"thread":2,"metric":"trms","rows":[]})",
       "there is no thread 2"},
      {R"({"type":"points","run":"r","routine":0,"thread":0,"metric":"xms","rows":[]})",
       "no metric"},
      {R"({"type":"points","run":"r","thread":0,"metric":"rms","rows":[]})", "routine"},
      {R"({"type":"points","run":"r","routine":0,"thread":0,"metric":"rms","rows":[[1,1,1,1,1,1,1,)"
       R"(1,1,1,1,1,1,1,1,1,1,1,1,1,1,0]]})",
       "larger than the size"},
      {R"({"type":"points","run":"r","routine":0,"thread":0,"metric":"rms","rows":7})",
       "not a list"},
      {R"({"type":"points","run":"q","routine":0,"thread":0,"metric":"rms","rows":[]})",
       "run \"q\" is not before it"},
      {R"({"type":"routines","run":"r","first":0,"routines":[]})", "1 were named before"},
      {R"({"type":"routines","run":"r","first":1,"routines":[{"module":4,"offset":1}]})",
       "there is no module 4"},
      {R"({"type":"routines","run":"r","first":1,"routines":[{"offset":1}]})", "module"},
      {R"({"type":"end","run":"r","total_blocks":-1})", "not a whole number"},
      {R"({"type":"end","run":"r","total_blocks":9223372036854775807})", "add up to more"},
      {R"({"type":"run","kind":"inputs","version":1,"run":"r"})", "was read before"},
      {R"({"type":"run","kind":"inputs","version":2,"run":"s"})", "log version 2 is newer"},
      {R"({"type":"run","kind":"callpath","version":1,"run":"s"})",
       "not a recording of input sizes"},
      {R"({"type":"run","kind":"inputs","version":1,"run":"s","cell_bytes":0})", "no byte"},
      {"nonsense", "not a line of a log of input sizes"},
  }));
  INFO(line);
  CHECK_THAT(refusal(line), Contains(error) && Contains("inputs.jsonl:5"));
}

TEST_CASE("Input log: sums of many lines do not overflow", "[inputs]") {
  const std::string large = points(
      "1,1,4000000000000000000,4000000000000000000,4000000000000000000,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
      "1,0,0");
  CHECK(refusal(large) == "it was read");
  CHECK_THAT(refusal(large + "\n" + large), Contains("add up to more"));
}

TEST_CASE("Input log: lines of another type and after the end", "[inputs]") {
  const ReadLog log = read(with_line(R"({"type":"proxy","run":"r"})"));
  REQUIRE(log.warnings.size() == 1);
  CHECK_THAT(log.warnings.front().text(), Contains("proxy"));
  const std::string end = R"({"type":"end","run":"r","reason":"exited"})";
  CHECK(refusal(end) == "it was read");
  CHECK_THAT(refusal(end + "\n" + points("1,1," + kCosts + ",0,0")), Contains("has ended"));
}

}  // namespace causalctl::inputs
