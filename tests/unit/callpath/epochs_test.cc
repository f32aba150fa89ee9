#include "controller/callpath/run/epochs.h"

#include <catch2/catch.hpp>

namespace causalctl::callpath {
namespace {

using Catch::Contains;

constexpr Nanoseconds kBegin = 5 * kSecond;

struct EpochsFixture {
  explicit EpochsFixture(EpochSettings settings)
      : epochs(std::move(settings), recorder, recording) {
    epochs.start(kBegin);
  }
  void map(const std::string& path, Nanoseconds after_ns) {
    perf::MapEvent event;
    event.path = path;
    event.inode = 7;
    event.time_ns = kBegin + after_ns;
    epochs.take(event);
  }
  std::vector<std::string> reasons() const {
    std::vector<std::string> all;
    for (const Epoch& epoch : recording.epochs) all.push_back(epoch.reason);
    return all;
  }

  static Recording begun() {
    Recording recording;
    recording.epochs.push_back({0, "start"});
    return recording;
  }
  Recording recording = begun();
  Recorder recorder{
      {{}, {}, [](Pid, Tid) { return std::string("t"); }}, Grouping::all, false, recording};
  Epochs epochs;
};

using Reasons = std::vector<std::string>;

}  // namespace

TEST_CASE("libraries that are loaded together begin one epoch", "[callpath][epochs]") {
  EpochsFixture fixture({std::nullopt, true, {}});
  fixture.map("/lib/libz.so.1", kSecond);
  fixture.map("/lib/libdependency.so", kSecond + 20 * kMillisecond);
  fixture.map("/lib/libother.so", kSecond + 110 * kMillisecond);
  CHECK(fixture.reasons() == Reasons{"start", "dlopen of libz.so.1"});
  CHECK(fixture.recording.epochs[1].start_ns == kSecond);
  fixture.map("/lib/libm.so", 2 * kSecond);
  CHECK(fixture.reasons().back() == "dlopen of libm.so");
  // What never ends is cut.
  for (int i = 1; i < 60; ++i) fixture.map("/lib/x.so", 2 * kSecond + i * 50 * kMillisecond);
  CHECK(fixture.reasons().size() == 5);
}

TEST_CASE("code in no file, and libraries that nobody asked for, begin none",
          "[callpath][epochs]") {
  EpochsFixture asked({std::nullopt, true, {}});
  perf::MapEvent event;
  event.path = "//anon";
  event.time_ns = kBegin + kSecond;
  asked.epochs.take(event);
  CHECK(asked.reasons().size() == 1);
  EpochsFixture fixture({std::nullopt, false, {}});
  fixture.map("/lib/libz.so.1", kSecond);
  CHECK(fixture.reasons().size() == 1);
}

TEST_CASE("libraries that are gone begin an epoch", "[callpath][epochs]") {
  EpochsFixture fixture({std::nullopt, true, {}});
  fixture.epochs.look({"/bin/prog", "/lib/libz.so.1", "/lib/liby.so"}, kBegin + kSecond);
  fixture.epochs.look({"/bin/prog", "/lib/libz.so.1", "/lib/liby.so"}, kBegin + 2 * kSecond);
  CHECK(fixture.reasons().size() == 1);
  fixture.epochs.look({"/bin/prog", "/lib/liby.so"}, kBegin + 3 * kSecond);
  CHECK(fixture.reasons().back() == "dlclose of libz.so.1");
  CHECK(fixture.recording.epochs.back().start_ns == 3 * kSecond);
  fixture.epochs.look({}, kBegin + 4 * kSecond);  // the process is gone
  CHECK(fixture.reasons().size() == 2);
  fixture.map("/lib/libz.so.1", 5 * kSecond);
  fixture.epochs.look({"/bin/prog"}, kBegin + 6 * kSecond);
  CHECK(fixture.reasons().back() == "dlclose of liby.so and 1 more");
}

TEST_CASE("another program begins an epoch, and its libraries do not", "[callpath][epochs]") {
  EpochsFixture fixture({std::nullopt, true, {}});
  fixture.epochs.look({"/bin/prog", "/lib/libz.so.1"}, kBegin);
  perf::ExecEvent exec;
  exec.time_ns = kBegin + kSecond;
  fixture.epochs.take(exec);
  fixture.map("/bin/other", kSecond + 1);
  fixture.map("/lib/libc.so.6", kSecond + 5 * kMillisecond);
  fixture.epochs.look({"/bin/other", "/lib/libc.so.6"}, kBegin + 2 * kSecond);
  CHECK(fixture.reasons() == Reasons{"start", "exec of another program"});
}

TEST_CASE("an epoch lasts as long as was asked for", "[callpath][epochs]") {
  EpochsFixture fixture({10 * kSecond, false, {}});
  fixture.epochs.at_time(kBegin + 9 * kSecond, kBegin + 9 * kSecond);
  CHECK(fixture.reasons().size() == 1);
  fixture.epochs.at_time(kBegin + 10 * kSecond + 3, kBegin + 10 * kSecond + 2);
  CHECK(fixture.reasons() == Reasons{"start", "every 10s"});
  CHECK(fixture.recording.epochs[1].start_ns == 10 * kSecond);
}

TEST_CASE("there are at most so many epochs", "[callpath][epochs]") {
  EpochsFixture fixture({std::nullopt, true, {}});
  for (std::size_t i = 0; i < Epochs::kMost + 5; ++i) {
    fixture.map("/lib/x.so", static_cast<Nanoseconds>(i + 1) * kSecond);
  }
  CHECK(fixture.recording.epochs.size() == Epochs::kMost);
  fixture.epochs.finish();
  REQUIRE(fixture.recording.warnings.size() == 1);
  CHECK_THAT(fixture.recording.warnings[0], Contains("10000"));
}

}  // namespace causalctl::callpath
