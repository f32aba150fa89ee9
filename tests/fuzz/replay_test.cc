// The corpus, which holds what was once a finding too, through the entry points of the fuzzer: in
// every build, with or without sanitizers.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "controller/base/error.h"
#include "tests/fuzz/corpus_path.h"
#include "tests/fuzz/targets.h"

namespace causalctl::fuzz {
namespace {

std::vector<std::filesystem::path> files_of(std::string_view target) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(CORPUS_FOLDER) / target)) {
    files.push_back(entry.path());
  }
  return files;
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("Hostile input: the corpus of every parser", "[fuzz]") {
  for (const Target& target : targets()) {
    DYNAMIC_SECTION(target.name) {
      const auto files = files_of(target.name);
      REQUIRE(files.size() >= 2);
      for (const auto& file : files) {
        INFO(file.string());
        const std::string text = contents(file);
        CHECK_NOTHROW(target.run(std::as_bytes(std::span(text))));
      }
      CHECK_NOTHROW(target.run({}));
    }
  }
}

}  // namespace causalctl::fuzz
