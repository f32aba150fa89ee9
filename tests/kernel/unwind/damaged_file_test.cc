// Debug information is untrusted input: a damaged file gives fewer answers, but never a crash or an
// endless loop.
#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <random>

#include "tests/kernel/unwind/target_program.h"
#include "unwind/names/module_index.h"

namespace causalctl::unwind {
namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// Asks for everything, and returns how many frames had a line.
int ask_everything(const std::string& path) {
  Modules modules(path);
  ModuleIndex index(*modules.all().front());
  const Address start = modules.all().front()->file.start;
  int with_line = 0;
  for (Address offset = 0; offset < 0x2000; offset += 7) {
    for (const Frame& frame : index.frames(start + offset)) with_line += frame.line > 0 ? 1 : 0;
  }
  index.find_function("original");
  index.find_line("symbols_target.cc", 40);
  index.similar_functions("wrok", 3);
  index.debug_info().near_lines("symbols_target.cc", 40, 3);
  index.debug_info().inlined_at("innermost", 3);
  index.runtime_address(0x1000);
  index.build_id();
  return with_line;
}

}  // namespace

TEST_CASE("The whole file answers", "[unwind]") {
  CHECK(ask_everything(target_path("symbols_dwarf5")) > 10);
  CHECK(ask_everything(target_path("symbols_dwarf4")) > 10);
}

TEST_CASE("A truncated file does not crash the symbolizer", "[unwind]") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/damaged";
  const std::string whole = contents(target_path("symbols_dwarf5"));
  REQUIRE(whole.size() > 1000);
  std::minstd_rand random(1);
  for (int round = 0; round < 60; ++round) {
    write_file(path, whole.substr(0, random() % whole.size()));
    ask_everything(path);
  }
  write_file(path, "");
  CHECK(ask_everything(path) == 0);
  write_file(path, "#!/bin/sh\n");
  CHECK(ask_everything(path) == 0);
}

TEST_CASE("Flipped bytes do not crash the symbolizer", "[unwind]") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/damaged";
  const std::string variant = GENERATE("symbols_dwarf5", "symbols_dwarf4");
  const std::string whole = contents(target_path(variant));
  std::minstd_rand random(2);
  for (int round = 0; round < 100; ++round) {
    std::string damaged = whole;
    for (int i = 0; i < 40; ++i) damaged[random() % whole.size()] = static_cast<char>(random());
    write_file(path, damaged);
    ask_everything(path);
  }
}

}  // namespace causalctl::unwind
