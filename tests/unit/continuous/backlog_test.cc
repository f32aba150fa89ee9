// Tests what is kept of a recording while its database cannot be written.
#include "controller/continuous/record/backlog.h"

#include <catch2/catch.hpp>
#include <filesystem>

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

TEST_CASE("It goes on at its path, whatever becomes of the file", "[continuous]") {
  namespace fs = std::filesystem;
  const test::Folder temporary;
  const std::string folder = temporary.file("db");
  auto database = Database::record(folder, {"host", "", "", 1});
  const std::string file = database.file();
  Backlog backlog(100, std::nullopt);
  backlog.begin_epoch("", 0);
  backlog.add(drain_with(1, 3, 5 * kSecond));
  backlog.write(database);
  CHECK_FALSE(backlog.follow_path(database));
  backlog.add(drain_with(1, 4, 6 * kSecond));

  SECTION("the folder is removed") {
    fs::remove_all(folder);
    CHECK(backlog.follow_path(database));
    backlog.write(database);
    const auto epochs = Database::read(file).epochs();
    REQUIRE(epochs.size() == 1);
    CHECK(epochs[0].samples == 4);
    CHECK(epochs[0].begin_ns == 5 * kSecond);  // the end of what was written before
  }
  SECTION("only the file is removed") {
    fs::remove(file);
    CHECK(backlog.follow_path(database));
    backlog.write(database);
    CHECK(Database::read(file).epochs().at(0).samples == 4);
  }
  SECTION("the folder is moved") {
    fs::rename(folder, temporary.file("moved"));
    CHECK(backlog.follow_path(database));
    backlog.write(database);
    CHECK(Database::read(file).epochs().at(0).samples == 4);
    CHECK(Database::read(temporary.file("moved/host.db")).epochs().at(0).samples == 3);
  }
  SECTION("a folder takes its place that cannot be written, and goes") {
    fs::remove_all(folder);
    temporary.write("db", "no folder");
    CHECK_THROWS_WITH(backlog.follow_path(database), Catch::Contains("removed or replaced"));
    CHECK_THROWS_AS(backlog.follow_path(database), Error);
    CHECK(database.names(kProgram).empty());
    CHECK(backlog.samples() == 4);
    fs::remove(folder);
    CHECK(backlog.follow_path(database));
    backlog.write(database);
    CHECK(Database::read(file).epochs().at(0).samples == 4);
  }
  SECTION("another program's file takes its place") {
    fs::remove_all(folder);
    fs::create_directory(folder);
    Connection(file, Connection::Mode::write).execute("CREATE TABLE meta (key, value)");
    CHECK_THROWS_WITH(backlog.follow_path(database), Catch::Contains("no database of causalctl"));
    CHECK(backlog.samples() == 4);
  }
  SECTION("an earlier state of it takes its place") {
    fs::remove_all(folder);
    { Database::record(folder, {"host", "", "", 1}).begin_epoch("earlier", 0); }
    CHECK(backlog.follow_path(database));
    backlog.write(database);
    const auto epochs = Database::read(file).epochs();
    REQUIRE(epochs.size() == 2);
    CHECK(epochs[0].name == "earlier");
    CHECK(epochs[1].samples == 4);
  }
  for (const char* beside : {"-wal", "-shm", ".lock"}) {
    DYNAMIC_SECTION("only its " << beside << " is removed") {
      fs::remove(file + beside);
      CHECK(backlog.follow_path(database));
      backlog.write(database);
      const auto epochs = Database::read(file).epochs();
      REQUIRE(epochs.size() == 1);
      CHECK(epochs[0].samples == 7);  // nothing is lost
      CHECK(Database::is_recording(file));
    }
  }
  if (database.is_open()) CHECK_FALSE(backlog.follow_path(database));
}

}  // namespace causalctl::continuous
