// Tests what is kept of a recording while its database cannot be written.
#include "controller/continuous/record/backlog.h"

#include <catch2/catch.hpp>

#include "controller/base/error.h"
#include "tests/support/folder.h"

namespace causalctl::continuous {
namespace {

const Image kProgram = {ImageKind::file, "/usr/bin/program", "abcd"};

Drain drain_with(std::uint64_t places, std::uint64_t samples, Nanoseconds recorded_ns) {
  Drain drain;
  drain.end_ns = recorded_ns;
  drain.recorded_ns = recorded_ns;
  for (Address offset = 0; offset < places; ++offset) {
    drain.profile[{kProgram}][offset] = {samples, kMillisecond};
  }
  drain.names[kProgram] = {{samples, {1, "f"}}};
  return drain;
}

}  // namespace

TEST_CASE("What could not be written is written later, each epoch for itself", "[continuous]") {
  const test::Folder temporary;
  auto database = Database::record(temporary.file("db"), {"host", "", "", 1});
  Backlog backlog(100, std::nullopt);
  backlog.begin_epoch("first", kSecond);
  CHECK_FALSE(backlog.is_written());
  CHECK(backlog.add(drain_with(2, 3, 5 * kSecond)) == 0);
  {
    const Connection other(database.file(), Connection::Mode::write);
    other.execute("BEGIN IMMEDIATE");  // the file is locked
    CHECK_THROWS_AS(backlog.write(database), Error);
    other.execute("ROLLBACK");
  }
  CHECK(backlog.add(drain_with(1, 4, 5 * kSecond)) == 0);
  backlog.begin_epoch("second", 11 * kSecond);
  CHECK(backlog.add(drain_with(1, 5, 2 * kSecond)) == 0);
  CHECK(backlog.samples() == 15);
  backlog.write(database);
  CHECK(backlog.is_written());
  CHECK(backlog.samples() == 0);
  backlog.write(database);  // nothing twice
  const auto epochs = database.epochs();
  REQUIRE(epochs.size() == 2);
  CHECK(epochs[0].name == "first");
  CHECK(epochs[0].samples == 10);
  CHECK(epochs[0].recorded_ns == 10 * kSecond);
  CHECK(epochs[1].begin_ns == 11 * kSecond);
  CHECK(epochs[1].samples == 5);
}

TEST_CASE("Call paths that come late belong to the epoch before", "[continuous]") {
  const test::Folder temporary;
  auto database = Database::record(temporary.file("db"), {"host", "", "", 1});
  CHECK_FALSE(database.last_epoch());
  const auto earlier = database.begin_epoch("", 0);
  CHECK(database.last_epoch() == earlier);
  Backlog backlog(100, earlier);
  backlog.begin_epoch("", kSecond);
  backlog.add_late_paths("left behind\n");
  backlog.write(database);
  backlog.begin_epoch("", 2 * kSecond);
  backlog.add_late_paths("of the first\n");
  backlog.write(database);
  backlog.add_late_paths("of the first, too\n");
  backlog.write(database);
  CHECK(database.paths(earlier) == "left behind\n");
  CHECK(database.paths(earlier + 1) == "of the first\nof the first, too\n");
  CHECK(database.paths(earlier + 2).empty());
}

TEST_CASE("Without room the oldest counts are dropped, and told", "[continuous]") {
  const test::Folder temporary;
  auto database = Database::record(temporary.file("db"), {"host", "", "", 1});
  Backlog backlog(5, std::nullopt);
  backlog.begin_epoch("", 0);
  // As long as drains are summed, so that they are apart.
  CHECK(backlog.add(drain_with(3, 2, 600 * kSecond)) == 0);
  CHECK(backlog.add(drain_with(2, 1, 600 * kSecond)) == 0);
  CHECK(backlog.add(drain_with(1, 7, 600 * kSecond)) == 6);
  backlog.write(database);
  const auto epochs = database.epochs();
  REQUIRE(epochs.size() == 1);
  CHECK(epochs[0].samples == 9);
  CHECK(epochs[0].recorded_ns == 1200 * kSecond);
  CHECK(epochs[0].losses == Losses{{"not written", 6}});
  CHECK(database.names(kProgram).size() == 3);  // they are told once
}

}  // namespace causalctl::continuous
