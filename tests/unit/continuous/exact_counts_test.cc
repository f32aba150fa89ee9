// Tests exact counts in the database, on files of its own.
#include "controller/continuous/record/exact_counts.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "controller/base/error.h"
#include "controller/continuous/record/database.h"
#include "tests/support/folder.h"

namespace causalctl::continuous {
namespace {

const Host kMachine = {"host", "6.1.0", "a processor", 4};
const Image kCountedServer = {ImageKind::file, "/usr/bin/server", "abcd"};
const Image kCountedLibrary = {ImageKind::file, "/lib/library.so", "ef"};
const ExactCounts kCounts = {{{0x10, 1000}, {0x14, 999}}, {{{0x14, 0x10}, 998}}};
const ExactCounts kOthers = {{{0x10, 7}}, {}};

}  // namespace

TEST_CASE("Exact counts are kept by build", "[continuous]") {
  const test::Folder temporary;
  auto database = Database::record(temporary.file("db"), kMachine);
  database.add_exact({{kCountedServer, kCounts}, {kCountedLibrary, kOthers}}, "server -x",
                     5 * kSecond);
  const auto reader = Database::read(database.file());
  CHECK(reader.exact_counts("abcd") == kCounts);
  CHECK(reader.exact_counts("ef") == kOthers);
  CHECK_FALSE(reader.exact_counts("12"));
  CHECK_FALSE(reader.exact_counts(""));
  const auto imports = reader.exact_imports();
  REQUIRE(imports.size() == 2);
  CHECK(imports[0].image == kCountedLibrary);
  CHECK(imports[1].image == kCountedServer);
  CHECK(imports[1].instructions == 1999);
  CHECK(imports[1].command == "server -x");
  CHECK(imports[1].imported_ns == 5 * kSecond);
  CHECK_NOTHROW(reader.check());
}

TEST_CASE("An import replaces an earlier one of the same build, by whatever path", "[continuous]") {
  const test::Folder temporary;
  auto database = Database::record(temporary.file("db"), kMachine);
  database.add_exact({{kCountedServer, kCounts}, {kCountedLibrary, kOthers}}, "first", 0);
  const Image moved = {ImageKind::file, "/opt/server", "abcd"};
  database.add_exact({{moved, kOthers}}, "second", 1);
  CHECK(database.exact_counts("abcd") == kOthers);
  CHECK(database.exact_counts("ef") == kOthers);
  CHECK(database.exact_imports().size() == 2);
  // Copies of one build in one import are summed.
  database.add_exact({{moved, kOthers}, {kCountedServer, kCounts}}, "third", 2);
  CHECK(database.exact_counts("abcd") == ExactCounts{{{0x10, 1007}, {0x14, 999}}, kCounts.jumps});
}

TEST_CASE("Exact counts are added beside a recorder, and outlive it", "[continuous]") {
  const test::Folder temporary;
  const std::string folder = temporary.file("db");
  {
    auto recorder = Database::record(folder, kMachine);
    Database::beside(recorder.file()).add_exact({{kCountedServer, kCounts}}, "server", 0);
    const auto epoch = recorder.begin_epoch("", 0);
    Drain drain;
    drain.profile[{kCountedServer}][0x10] = {3, kMillisecond};
    recorder.add(epoch, drain);
    recorder.begin_epoch("", kSecond);
    CHECK(recorder.remove_old(kSecond, 0) == 1);
  }
  const auto next = Database::record(folder, kMachine);  // it removes images without samples
  CHECK(next.exact_counts("abcd") == kCounts);
}

TEST_CASE("Damaged exact counts are told of", "[continuous]") {
  const test::Folder temporary;
  auto database = Database::record(temporary.file("db"), kMachine);
  database.add_exact({{kCountedServer, kCounts}}, "server", 0);
  Connection(database.file(), Connection::Mode::write)
      .execute("UPDATE exact SET jumps = substr(jumps, 1, 17)");
  CHECK_THROWS_WITH(database.exact_counts("abcd"), Catch::Matchers::Contains("build abcd"));
  CHECK_THROWS_WITH(database.check(), Catch::Matchers::Contains("build abcd"));
}

TEST_CASE("What no epoch has is removed on request, and room is given back", "[continuous]") {
  const test::Folder temporary;
  auto database = Database::record(temporary.file("db"), kMachine);
  const auto epoch = database.begin_epoch("", 0);
  Drain drain;
  // The recorder may know the build by another path.
  drain.profile[{{ImageKind::file, "/other/server", "abcd"}}][0x10] = {3, kMillisecond};
  drain.names[kCountedLibrary] = {{0x10, {8, "f"}}};
  database.add(epoch, drain);
  database.keep(kCountedLibrary, std::string(100, 'x'), 0);
  ExactCounts large;
  for (Address address = 0; address < 100'000; ++address) {
    large.instructions[address * address] = address * 7919;
  }
  database.add_exact({{kCountedServer, kCounts}, {kCountedLibrary, large}}, "server", 0);
  database.merge();
  const std::uint64_t before = std::filesystem::file_size(database.file());
  const std::uint64_t epochs = database.epoch_bytes();
  CHECK(database.bytes() - epochs > 100'000);
  const std::uint64_t freed = database.remove_unused();
  CHECK(freed > 100'000);
  CHECK(std::filesystem::file_size(database.file()) <= before - freed);
  CHECK(database.exact_counts("abcd") == kCounts);
  CHECK_FALSE(database.exact_counts("ef"));
  CHECK(database.names(kCountedLibrary).empty());
  CHECK_FALSE(database.has_kept(kCountedLibrary));
  CHECK(database.epochs().at(0).samples == 3);
  CHECK(database.remove_unused() == 0);
}

TEST_CASE("Counts go to the file that is named, or the only one, or this host's", "[continuous]") {
  const test::Folder temporary;
  const std::string folder = temporary.file("db");
  CHECK(Database::file_for(folder, kMachine) == folder + "/host.db");
  std::filesystem::create_directory(folder);
  CHECK(Database::file_for(folder, kMachine) == folder + "/host.db");
  temporary.write("db/other.db", "");
  CHECK(Database::file_for(folder, kMachine) == folder + "/other.db");
  temporary.write("db/third.db", "");
  CHECK(Database::file_for(folder, kMachine) == folder + "/host.db");
  CHECK(Database::file_for(folder + "/third.db", kMachine) == folder + "/third.db");
}

TEST_CASE("Sums of exact counts that are too large are refused", "[continuous]") {
  ExactCounts sum = {{{0x10, kMostExecutions - 1}}, {}};
  CHECK_NOTHROW(add(sum, {{{0x10, 1}}, {}}));
  CHECK_THROWS_AS(add(sum, {{{0x10, 1}}, {}}), Error);
  CHECK(sum_of(sum.instructions) == kMostExecutions);
  sum.instructions[0x20] = 1;
  CHECK_THROWS_AS(sum_of(sum.instructions), Error);
}

}  // namespace causalctl::continuous
