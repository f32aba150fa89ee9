// Tests what is kept of a file with code.
#include "controller/continuous/record/kept_file.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <random>

#include "controller/base/error.h"
#include "controller/continuous/record/database.h"
#include "tests/support/folder.h"
#include "unwind/modules/module_file.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::continuous {
namespace {

std::string bytes_of_this_program() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST_CASE("A kept file has its symbols and no debug information", "[continuous]") {
  const std::string whole = bytes_of_this_program();
  const std::string kept = without_debug_information(whole);
  REQUIRE(kept.size() == whole.size());
  CHECK(packed_file(kept).size() < packed_file(whole).size());
  const test::Folder temporary;
  const std::string path = temporary.file("kept");
  std::ofstream(path, std::ios::binary) << kept;
  const auto file = unwind::open_module_file(path);
  const auto original = unwind::open_module_file("/proc/self/exe");
  CHECK(file.build_id == original.build_id);
  CHECK_FALSE(file.build_id.empty());
  unwind::Symbolizer symbols(file);
  const auto found = symbols.find_function("main", "");
  REQUIRE_FALSE(found.empty());
  CHECK(symbols.frames(found.front().address).front().function == "main");
  CHECK(symbols.frames(found.front().address).front().line == 0);
}

TEST_CASE("A kept file comes back from the database as it was", "[continuous]") {
  const test::Folder temporary;
  auto database = Database::record(temporary.file("db"), {"host", "", "", 1});
  const Image image = {ImageKind::file, "/usr/bin/program", "abcd"};
  CHECK_FALSE(database.has_kept(image));
  CHECK(database.kept(image).empty());
  database.keep(image, "bytes of a file", 0);
  CHECK(database.has_kept(image));
  CHECK(database.kept(image) == "bytes of a file");
  Connection(database.file(), Connection::Mode::write)
      .execute("UPDATE kept_file SET bytes = substr(bytes, 1, 12)");
  CHECK_THROWS_AS(database.kept(image), Error);
}

TEST_CASE("Kept files have a bound of their own, and epochs are not removed for them",
          "[continuous]") {
  const test::Folder temporary;
  auto database = Database::record(temporary.file("db"), {"host", "", "", 1});
  database.begin_epoch("", 0);
  database.begin_epoch("", 1);
  std::mt19937 random(1);
  std::string file(100'000, '\0');  // that cannot be made smaller
  for (char& byte : file) byte = static_cast<char>(random());
  for (int i = 0; i < 5; ++i) {
    database.keep({ImageKind::file, std::to_string(i), "id"}, file, 250'000);
  }
  CHECK(database.kept_bytes() > 200'000);
  CHECK(database.kept_bytes() < 250'000);
  CHECK_FALSE(database.has_kept({ImageKind::file, "2", "id"}));
  CHECK(database.has_kept({ImageKind::file, "4", "id"}));
  CHECK(database.remove_old(-1, 150'000) == 0);
}

TEST_CASE("What is no ELF file is not kept, and broken ones do no harm", "[continuous]") {
  CHECK(without_debug_information("").empty());
  CHECK(without_debug_information(std::string(1000, 'x')).empty());
  const std::string whole = bytes_of_this_program();
  for (std::size_t at = 4; at < 64; ++at) {  // each byte of the header
    std::string broken = whole.substr(0, 100'000);
    broken[at] = '\xff';
    CHECK(without_debug_information(broken).size() <= broken.size());
  }
}

}  // namespace causalctl::continuous
