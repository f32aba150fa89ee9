// Tests the database of continuous profiles on files of its own.
#include "controller/continuous/record/database.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "controller/base/error.h"
#include "tests/support/folder.h"

namespace causalctl::continuous {
namespace {

const Host kHost = {"host", "6.1.0", "a processor", 4};
const Image kServer = {ImageKind::file, "/usr/bin/server", "abcd"};
const Image kLibrary = {ImageKind::file, "/lib/library.so", "ef"};

Drain drain_of(const Image& image, Address offset, std::uint64_t samples) {
  Drain drain;
  drain.end_ns = 2 * kSecond;
  drain.recorded_ns = 5 * kSecond;
  const auto time_ns = static_cast<Nanoseconds>(samples) * kMillisecond;
  drain.profile[{image}][offset] = {samples, time_ns};
  return drain;
}

Profile profile_of(const Database& database, const std::vector<std::int64_t>& epochs) {
  std::vector<std::string> damage;
  Profile profile = database.profile(epochs, damage);
  CHECK(damage.empty());
  return profile;
}

}  // namespace

TEST_CASE("What drains add is summed, before a merge and after it", "[continuous]") {
  const test::Folder temporary;
  const std::string folder = temporary.file("db");
  auto database = Database::record(folder, kHost);
  const auto epoch = database.begin_epoch("first", kSecond);
  database.add(epoch, drain_of(kServer, 0x10, 3));
  Drain second = drain_of(kServer, 0x10, 4);
  second.profile[{kServer}][0x20] = {1, kMillisecond};
  second.profile[{kLibrary}][0x30] = {2, kMillisecond};
  second.losses["unknown"] = 5;
  database.add(epoch, second);
  second.profile.clear();
  database.add(epoch, second);
  const Profile wanted = {{{kServer}, {{0x10, {7, 7 * kMillisecond}}, {0x20, {1, kMillisecond}}}},
                          {{kLibrary}, {{0x30, {2, kMillisecond}}}}};
  CHECK(profile_of(database, {epoch}) == wanted);
  database.merge();
  CHECK(profile_of(database, {epoch}) == wanted);
  database.add(epoch, drain_of(kLibrary, 0x30, 1));
  database.merge();
  const auto reader = Database::read(Database::files_in(folder).at(0));
  CHECK(profile_of(reader, {epoch}).at({kLibrary}).at(0x30).samples == 3);
  const auto epochs = reader.epochs();
  REQUIRE(epochs.size() == 1);
  CHECK(epochs[0].name == "first");
  CHECK(epochs[0].begin_ns == kSecond);
  CHECK(epochs[0].end_ns == 2 * kSecond);
  CHECK(epochs[0].recorded_ns == 20 * kSecond);
  CHECK(epochs[0].samples == 11);
  CHECK(epochs[0].losses == Losses{{"unknown", 10}});
  CHECK(reader.host().name == kHost.name);
  CHECK(reader.host().cores == kHost.cores);
  CHECK_NOTHROW(reader.check());
}

TEST_CASE("Epochs are apart, and the oldest are removed", "[continuous]") {
  const test::Folder temporary;
  const std::string folder = temporary.file("db");
  auto database = Database::record(folder, kHost);
  std::vector<std::int64_t> epochs;
  for (int i = 0; i < 3; ++i) {
    epochs.push_back(database.begin_epoch("", i * 10 * kSecond));
    Drain drain = drain_of(i == 0 ? kLibrary : kServer, 0x10, 1 + static_cast<std::uint64_t>(i));
    drain.end_ns = (i * 10 + 5) * kSecond;
    database.add(epochs.back(), drain);
    database.merge();
  }
  Drain names;
  names.names[kLibrary] = {{0x10, {8, "f"}}};
  database.add(epochs.back(), names);
  CHECK(profile_of(database, {epochs[1]}).at({kServer}).at(0x10).samples == 2);
  CHECK(profile_of(database, {epochs[1], epochs[2]}).at({kServer}).at(0x10).samples == 5);
  CHECK(database.names(kLibrary) == Names{{0x10, {8, "f"}}});
  CHECK(database.remove_old(10 * kSecond, 0) == 1);
  CHECK(database.epochs().size() == 2);
  CHECK(profile_of(database, {epochs[0]}).empty());
  CHECK(database.names(kLibrary).size() == 1);  // the recorder may need it again
  CHECK(database.remove_old(0, 1) == 1);        // the last one stays, whatever its size
  CHECK(database.epochs().at(0).id == epochs[2]);
  { const Database ended = std::move(database); }
  CHECK(Database::record(folder, kHost).names(kLibrary).empty());  // nothing refers to it
}

TEST_CASE("Older epochs without names are joined by day", "[continuous]") {
  constexpr std::int64_t kHour = 3600 * kSecond;
  const test::Folder temporary;
  auto database = Database::record(temporary.file("db"), kHost);
  // Hours 0 to 4 and 22 to 26; the third one has a name; the point is not counted in the second.
  for (const std::int64_t hour : {0, 1, 2, 3, 4, 22, 23, 24, 25, 26}) {
    const auto epoch = database.begin_epoch(hour == 2 ? "named" : "", hour * kHour);
    Drain drain = drain_of(kServer, 0x10, 1);
    drain.end_ns = (hour + 1) * kHour - 1;
    drain.recorded_ns = kHour;
    drain.losses["unknown"] = 2;
    if (hour != 1) drain.visits["point"] = 10;
    if (hour == 22) database.begin_epoch("", hour * kHour);  // of a recorder that was killed soon
    drain.paths = {"log " + std::to_string(hour) + "\n"};
    database.add(epoch, drain);
    if (hour != 4) database.merge();
  }
  CHECK(database.roll_up(26 * kHour) == 6);
  database.merge();
  const auto epochs = database.epochs();
  REQUIRE(epochs.size() == 5);
  CHECK(epochs[0].recorded_ns == 2 * kHour);
  CHECK(epochs[0].end_ns == 2 * kHour - 1);
  CHECK(epochs[0].samples == 2);
  CHECK(epochs[0].losses == Losses{{"unknown", 4}});
  CHECK(epochs[0].visits.empty());
  CHECK(database.paths(epochs[0].id) == "log 0\nlog 1\n");
  CHECK(epochs[1].name == "named");
  CHECK(epochs[2].samples == 4);  // of the hours 3, 4, 22 and 23
  CHECK(epochs[2].visits == VisitCounts{{"point", 40}});
  CHECK(profile_of(database, {epochs[2].id}).at({kServer}).at(0x10).samples == 4);
  CHECK(epochs[3].begin_ns == 24 * kHour);
  CHECK(epochs[3].samples == 2);
  CHECK(database.roll_up(26 * kHour) == 0);
}

TEST_CASE("An epoch has ended when a later one begins, whatever the clock says", "[continuous]") {
  const test::Folder temporary;
  auto database = Database::record(temporary.file("db"), kHost);
  const auto ahead = database.begin_epoch("", 1000 * kSecond);
  Drain drain = drain_of(kServer, 0x10, 1);
  drain.end_ns = 1010 * kSecond;
  database.add(ahead, drain);
  const auto back = database.begin_epoch("", 100 * kSecond);
  database.begin_epoch("", 110 * kSecond);
  CHECK(database.remove_old(100 * kSecond, 0) == 0);
  CHECK(database.remove_old(101 * kSecond, 0) == 2);
  CHECK(database.epochs().front().id == back + 1);
}

TEST_CASE("One recorder has a database, and others may ask it", "[continuous]") {
  const test::Folder temporary;
  const std::string folder = temporary.file("db");
  auto recorder = Database::record(folder, kHost);
  const std::string file = recorder.file();
  CHECK(Database::is_recording(file));
  CHECK_THROWS_WITH(Database::record(folder, kHost), Catch::Matchers::Contains("another recorder"));
  auto other = Database::beside(file);
  const auto asked = other.ask({.kind = Request::Kind::epoch, .text = "named"});
  const auto request = recorder.next_request();
  REQUIRE(request);
  CHECK(request->kind == Request::Kind::epoch);
  CHECK(request->text == "named");
  CHECK_FALSE(other.answer(asked));
  recorder.finish(*request, "no room");
  CHECK(other.answer(asked) == "no room");
  CHECK_FALSE(recorder.next_request());
  other.withdraw(asked);
  CHECK_FALSE(other.answer(asked));
  struct stat status {};
  REQUIRE(stat(file.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0600U);
  REQUIRE(stat(folder.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0700U);
}

TEST_CASE("A link or a FIFO in place of the file is refused", "[continuous]") {
  const test::Folder temporary;
  const std::string folder = temporary.file("db");
  std::filesystem::create_directory(folder);
  std::filesystem::create_symlink(temporary.file("elsewhere"), folder + "/host.db");
  CHECK_THROWS_WITH(Database::record(folder, kHost), Catch::Matchers::Contains("host.db"));
  CHECK_FALSE(std::filesystem::exists(temporary.file("elsewhere")));
  std::filesystem::remove(folder + "/host.db");
  REQUIRE(mkfifo((folder + "/host.db").c_str(), 0600) == 0);
  CHECK_THROWS_WITH(Database::read(folder + "/host.db"), Catch::Matchers::Contains("no regular"));
  CHECK_THROWS_WITH(Database::record(folder, kHost), Catch::Matchers::Contains("no regular"));
}

TEST_CASE("A file that is no database of profiles is refused", "[continuous]") {
  const test::Folder temporary;
  const std::string folder = temporary.file("db");
  CHECK_THROWS_AS(Database::files_in(folder), Error);
  std::filesystem::create_directory(folder);
  CHECK_THROWS_WITH(Database::files_in(folder), Catch::Matchers::Contains("has no database"));
  const std::string file = folder + "/host.db";
  std::ofstream(file) << std::string(10'000, 'x');
  CHECK_THROWS_AS(Database::read(file), Error);
  std::filesystem::remove(file);
  { auto database = Database::record(folder, kHost); }
  Connection(file, Connection::Mode::write)
      .execute("UPDATE meta SET value = 9 WHERE key = 'version'");
  CHECK_THROWS_WITH(Database::read(file), Catch::Matchers::Contains("version 9"));
  CHECK_FALSE(Database::is_recording(file));
}

TEST_CASE("Earlier versions are read, and brought to this one by a recorder", "[continuous]") {
  const int version = GENERATE(1, 2);
  const test::Folder temporary;
  const std::string folder = temporary.file("db");
  std::string file;
  {
    auto database = Database::record(folder, kHost);
    database.add(database.begin_epoch("", 0), drain_of(kServer, 0x10, 3));
    file = database.file();
  }
  {
    const Connection older(file, Connection::Mode::write);
    older.execute("DROP TABLE exact; UPDATE meta SET value = 2 WHERE key = 'version'");
    if (version == 1) {
      older.execute(R"(
DROP TABLE kept_file; DROP TABLE visit; DROP TABLE path; ALTER TABLE request DROP COLUMN answer;
UPDATE meta SET value = 1 WHERE key = 'version')");
    }
  }
  CHECK_THROWS_WITH(Database::beside(file), Catch::Matchers::Contains("causalctl knows version 3"));
  {
    const auto reader = Database::read(file);
    const auto epochs = reader.epochs();
    REQUIRE(epochs.size() == 1);
    CHECK(profile_of(reader, {epochs[0].id}).at({kServer}).at(0x10).samples == 3);
    CHECK(reader.paths(epochs[0].id).empty());
    CHECK(reader.kept(kServer).empty());
    CHECK(reader.exact_imports().empty());
    CHECK_NOTHROW(reader.check());
  }
  auto database = Database::record(folder, kHost);
  CHECK(database.epochs().at(0).samples == 3);
  database.keep(kServer, "bytes", 0);
  CHECK(Database::read(file).kept(kServer) == "bytes");
  database.add_exact({{kServer, {{{0x10, 1}}, {}}}}, "server", 0);
  CHECK(Database::read(file).exact_imports().size() == 1);
}

TEST_CASE("A damaged row is told of, and the others are read and merged", "[continuous]") {
  const test::Folder temporary;
  const std::string folder = temporary.file("db");
  auto database = Database::record(folder, kHost);
  const auto epoch = database.begin_epoch("", 0);
  database.add(epoch, drain_of(kServer, 0x10, 3));
  Connection(database.file(), Connection::Mode::write)
      .execute("UPDATE fresh SET counts = substr(counts, 1, 10)");
  database.add(epoch, drain_of(kServer, 0x10, 4));
  std::vector<std::string> damage;
  CHECK(database.profile({epoch}, damage).at({kServer}).at(0x10).samples == 4);
  REQUIRE(damage.size() == 1);
  CHECK_THAT(damage[0], Catch::Matchers::Contains("3 samples of /usr/bin/server"));
  CHECK_THROWS_WITH(database.check(), Catch::Matchers::Contains("/usr/bin/server"));
  database.merge();
  CHECK(profile_of(database, {epoch}).at({kServer}).at(0x10).samples == 4);
  CHECK(database.epochs().at(0).losses == Losses{{"damaged", 3}});
  CHECK_NOTHROW(database.check());
}

TEST_CASE("Another program's file is told from a database, and is not changed", "[continuous]") {
  const test::Folder temporary;
  const std::string folder = temporary.file("db"), file = folder + "/host.db";
  std::filesystem::create_directory(folder);
  temporary.write("db/host.db", "");
  CHECK_THROWS_WITH(Database::read(file), Catch::Contains("is no database of causalctl"));
  const char* table = GENERATE("CREATE TABLE other (key)",
                               "CREATE TABLE meta (key, value);"
                               "INSERT INTO meta VALUES ('version', 2)");
  Connection(file, Connection::Mode::write).execute(table);
  const std::string before = test::content(file);
  CHECK_THROWS_WITH(Database::read(file), Catch::Contains("is no database of causalctl"));
  CHECK_THROWS_WITH(Database::beside(file), Catch::Contains("is no database of causalctl"));
  CHECK_THROWS_WITH(Database::record(folder, kHost),
                    Catch::Contains("is no database of causalctl"));
  CHECK(test::content(file) == before);
}

}  // namespace causalctl::continuous
