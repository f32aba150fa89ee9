#include "controller/callpath/record/parts.h"

#include <catch2/catch.hpp>

#include "controller/callpath/record/log.h"
#include "tests/support/folder.h"
#include "tests/unit/callpath/recordings.h"

namespace causalctl::callpath {
namespace {

constexpr SliceKey kCpu{0, 0, Metric::cpu_ns};

std::uint64_t value_of_node(const Part& part, NodeId node) {
  const auto slice = part.slices.find(kCpu);
  if (slice == part.slices.end()) return 0;
  const auto value = slice->second.find(node);
  return value == slice->second.end() ? 0 : value->second;
}

// The parts of a recording that is written each second, with 1 for each.
std::vector<Part> parts_of(int seconds, Nanoseconds rest_ns) {
  Parts parts;
  parts.until(3 * kMillisecond);  // the first writing, at once
  for (int i = 0; i < seconds; ++i) {
    parts.add(kCpu, 1, 1);
    parts.until(3 * kMillisecond + (i + 1) * kSecond);
  }
  parts.add(kCpu, 1, 1);
  parts.until(3 * kMillisecond + seconds * kSecond + rest_ns);
  return parts.take();
}

}  // namespace

TEST_CASE("bounds of calls are in no part", "[callpath][parts]") {
  Parts parts;
  for (const Metric metric :
       {Metric::new_min, Metric::new_max, Metric::chains, Metric::new_to, Metric::new_below}) {
    parts.add({0, 0, metric}, 1, 1);
  }
  parts.until(kSecond);
  CHECK(parts.take().front().slices.empty());
}

TEST_CASE("parts of a recording are seconds, and all of it", "[callpath][parts]") {
  const std::vector<Part> parts = parts_of(8, 100 * kMillisecond);
  REQUIRE(parts.size() == 8);
  CHECK(parts.front().begin_ns == 0);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) CHECK(parts[i].begin_ns == parts[i - 1].end_ns);
    sum += value_of_node(parts[i], 1);
  }
  CHECK(sum == 9);
  CHECK(value_of_node(parts.back(), 1) == 2);  // with the short rest
  CHECK(parts.back().end_ns == 8 * kSecond + 103 * kMillisecond);
  CHECK(parts_of(8, 700 * kMillisecond).size() == 9);
}

TEST_CASE("a long recording has parts of more seconds", "[callpath][parts]") {
  for (const int seconds : {29, 30, 59, 61, 300, 3600}) {
    INFO(seconds);
    const std::vector<Part> parts = parts_of(seconds, 0);
    CHECK(parts.size() <= Parts::kMost);
    CHECK(parts.size() >= std::min<std::size_t>(Parts::kMost / 2, std::size_t(seconds)));
    std::uint64_t sum = 0;
    Nanoseconds longest = 0;
    Nanoseconds shortest = INT64_MAX;
    for (const Part& part : parts) {
      sum += value_of_node(part, 1);
      longest = std::max(longest, part.end_ns - part.begin_ns);
      shortest = std::min(shortest, part.end_ns - part.begin_ns);
    }
    CHECK(sum == std::uint64_t(seconds) + 1);
    CHECK(longest <= 2 * shortest + 10 * kMillisecond);
  }
}

TEST_CASE("a log that is read with its parts has all values in them", "[callpath][parts][log]") {
  const test::Folder folder;
  Recording run = small_recording();
  const std::string path = folder.file("l.jsonl");
  {
    LogWriter log(path);
    log.begin(run);
    const auto slices = run.slices;
    for (std::uint64_t second = 1; second <= 6; ++second) {
      run.wall_ns = Nanoseconds(second) * kSecond;
      for (const auto& [key, slice] : slices) {
        for (const auto& [node, value] : slice) run.slices[key][node] = value * second;
      }
      log.update(run);
    }
    log.end(run);
  }
  const std::vector<LogText> texts{{"l.jsonl", test::content(path)}};
  CHECK(parse_logs(texts).runs[0].parts.empty());
  const Recording read = parse_logs(texts, true).runs[0];
  REQUIRE(read.parts.size() == 6);
  for (const Part& part : read.parts) {
    CHECK(part.end_ns - part.begin_ns == kSecond);
    CHECK(part.slices == small_recording().slices);
  }
}

}  // namespace causalctl::callpath
