// Tests the symbolizer with programs that know their own symbols, built by different compilers.
#include "unwind/names/symbolizer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "tests/kernel/unwind/symbol_checks.h"
#include "tests/kernel/unwind/target_program.h"

namespace causalctl::unwind {
namespace {

const char* const kVariants[] = {"symbols_dwarf5", "symbols_dwarf4", "symbols_no_pie",
                                 "symbols_split4", "symbols_split5", "symbols_clang4",
                                 "symbols_clang5"};

// Returns nullptr if the variant was not built (no clang).
std::unique_ptr<TargetProgram> start(const std::string& variant) {
  const std::string path = target_path(variant);
  if (!std::filesystem::exists(path)) {
    REQUIRE(variant.find("clang") != std::string::npos);
    WARN(variant << " not tested: it was not built (clang missing?)");
    return nullptr;
  }
  return std::make_unique<TargetProgram>(path);
}

// Copies of a line that are not inlined are told apart if the compiler marks statements.
void check_copies(Symbolizer& symbolizer, const TargetProgram& target, bool marks_statements) {
  const auto marks = addresses_of_marks(target, 6);
  REQUIRE(marks.size() == 4);
  const auto places = addresses(symbolizer.find_line("symbols_target.cc", target.mark(6).line));
  if (marks_statements) {
    CHECK(places == marks);
  } else {
    CHECK(places == std::vector{marks.front()});
  }
  const int several = target.mark(7).line + 1;
  CHECK(symbolizer.find_line("symbols_target.cc", several).size() == 1);
}

// An entry of it is not a function of the program: samples there belong to the line that calls.
void check_linkage_table(Symbolizer& symbolizer, const TargetProgram& target) {
  const auto frames = symbolizer.frames(target.entry("qsort@plt"));
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].function.empty());
  CHECK(frames[0].line == 0);
}

void check_messages(Symbolizer& symbolizer, const TargetProgram& target) {
  // It is only inlined, so it has no address, but there is a hint where it is.
  CHECK(symbolizer.find_function("innermost", "").empty());
  const auto inlined = symbolizer.similar_functions("innermost", 5);
  REQUIRE_FALSE(inlined.empty());
  CHECK(inlined[0].find("symbols_inline.h:") != std::string::npos);
  const auto similar = symbolizer.similar_functions("orignal", 3);
  REQUIRE_FALSE(similar.empty());
  CHECK(similar[0] == "original");
  CHECK(similar.size() <= 3);
  const auto lines = symbolizer.similar_lines("symbols_inline.h", target.mark(1).line + 3, 2);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].find("symbols_inline.h:") != std::string::npos);
  const auto files = symbolizer.similar_lines("symbol_target.cc", 1, 3);
  REQUIRE_FALSE(files.empty());
  CHECK(files[0].ends_with("symbols_target.cc"));
}

}  // namespace

TEST_CASE("Frames, lines and functions are those that the program knows", "[unwind]") {
  for (const std::string variant : kVariants) {
    const auto target = start(variant);
    if (!target) continue;
    DYNAMIC_SECTION(variant) {
      Symbolizer symbolizer(target->pid());
      CHECK(symbolizer.has_lines(target->entry("original")));
      check_lines(symbolizer, *target);
      check_inline_chain(symbolizer, *target);
      check_find_line(symbolizer, *target);
      check_copies(symbolizer, *target, variant.find("clang") == std::string::npos);
      check_find_function(symbolizer, *target);
      check_linkage_table(symbolizer, *target);
      check_messages(symbolizer, *target);
    }
  }
}

TEST_CASE("Modules are the mapped files with code", "[unwind]") {
  const TargetProgram target(target_path("symbols_dwarf5"));
  Symbolizer symbolizer(target.pid());
  const auto modules = symbolizer.modules();
  CHECK(std::count_if(modules.begin(), modules.end(), [](auto& each) { return each.main; }) == 1);
  const auto main = symbolizer.module_at(target.entry("original"));
  REQUIRE(main);
  CHECK(main->main);
  CHECK(main->path == target_path("symbols_dwarf5"));
  CHECK(main->build_id.size() == 40);
  CHECK(main->start <= target.entry("original"));
  CHECK(main->end > target.entry("original"));
  CHECK_FALSE(symbolizer.module_at(0x10));
  CHECK(symbolizer.frames(0x10).empty());
  const auto vdso = symbolizer.find_function("__vdso_clock_gettime", "*vdso*");
  REQUIRE(vdso.size() == 1);
  CHECK(symbolizer.frames(vdso[0].address)[0].entry == vdso[0].address);
}

TEST_CASE("A file offset is the link-time address", "[unwind]") {
  for (const char* variant : {"symbols_dwarf5", "symbols_no_pie"}) {
    const TargetProgram target(target_path(variant));
    Symbolizer symbolizer(target.pid());
    const auto main = symbolizer.module_at(target.entry("outer"));
    const bool fixed = std::string(variant) == "symbols_no_pie";
    const Address offset = target.entry("outer") - (fixed ? 0 : main->start);
    const auto place = symbolizer.find_offset("symbols_*", offset);
    REQUIRE(place);
    CHECK(place->address == target.entry("outer"));
    CHECK_FALSE(symbolizer.find_offset("symbols_*", 0x7fffffffffff));
    CHECK_FALSE(symbolizer.find_offset("no_such_binary", offset));
  }
}

TEST_CASE("A library opened later is known after refresh, and forgotten when closed", "[unwind]") {
  TargetProgram target(target_path("symbols_dwarf5"));
  Symbolizer symbolizer(target.pid());
  const auto before = symbolizer.frames(target.mark(1).address);
  CHECK(symbolizer.find_function("plugin_work", "").empty());
  target.send("open " + target_path("symbols_plugin.so"));
  const std::string answer = target.receive();
  REQUIRE(answer.starts_with("opened "));
  const Address work = std::stoul(answer.substr(7), nullptr, 16);
  symbolizer.refresh();
  const auto found = symbolizer.find_function("plugin_work", "symbols_plugin*");
  REQUIRE(addresses(found) == std::vector{work});
  CHECK(found[0].file.ends_with("/symbols_plugin.c"));
  CHECK(symbolizer.frames(work)[0].function == "plugin_work");
  CHECK(symbolizer.frames(target.mark(1).address).size() == before.size());
  target.send("close");
  REQUIRE(target.receive() == "closed");
  symbolizer.refresh();
  CHECK_FALSE(symbolizer.module_at(work));
  CHECK(symbolizer.frames(work).empty());
  CHECK(symbolizer.frames(target.mark(1).address).size() == before.size());
}

TEST_CASE("A stripped program's functions are named by where they start", "[unwind]") {
  const TemporaryDirectory directory;
  const TargetProgram target(stripped_copy(directory, "--strip-all"));
  Symbolizer symbolizer(target.pid());
  CHECK_FALSE(symbolizer.has_lines(target.entry("outer")));
  const auto main = symbolizer.module_at(target.entry("outer"));
  const Address offset = target.entry("outer") - main->start;
  const auto frames = symbolizer.frames(target.entry("outer") + 5);
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].function == fmt::format("program+{:#x}", offset));
  CHECK(frames[0].entry == target.entry("outer"));
  CHECK(frames[0].line == 0);
  const auto place = symbolizer.find_offset("program", offset);
  REQUIRE(place);
  CHECK(place->address == target.entry("outer"));
  CHECK(place->function == frames[0].function);
  check_linkage_table(symbolizer, target);
}

TEST_CASE("A deleted or replaced executable is still read", "[unwind]") {
  const TemporaryDirectory directory;
  const std::string copy = stripped_copy(directory, "");
  const TargetProgram target(copy);
  std::filesystem::remove(copy);
  SECTION("deleted") {}
  SECTION("replaced by another program") {
    std::filesystem::copy(target_path("symbols_no_pie"), copy);
  }
  SECTION("replaced by what is no file") { run_command("mkfifo " + copy); }
  Symbolizer symbolizer(target.pid());
  check_lines(symbolizer, target);
  check_find_function(symbolizer, target);
  CHECK(symbolizer.module_at(target.entry("outer"))->path == copy);
}

TEST_CASE("A program in another mount namespace is read through that namespace", "[unwind]") {
  const TemporaryDirectory directory;
  const std::string elsewhere = directory.path() + "/elsewhere";
  const std::string start_path = directory.path() + "/start";
  std::filesystem::create_directory(elsewhere);
  run_command(
      fmt::format("printf '#!/bin/sh\\nexec unshare --mount sh -c \"mount -t tmpfs none {0} && "
                  "cp {1} {0}/program && exec {0}/program\"\\n' > {2}; chmod +x {2}",
                  elsewhere, target_path("symbols_dwarf5"), start_path));
  if (geteuid() != 0 || std::system("unshare --mount true") != 0) {
    WARN("mount namespaces not tested: creating one is not permitted here");
    return;
  }
  const TargetProgram target(start_path);
  REQUIRE_FALSE(std::filesystem::exists(elsewhere + "/program"));
  Symbolizer symbolizer(target.pid());
  check_lines(symbolizer, target);
  CHECK(symbolizer.module_at(target.entry("outer"))->path == elsewhere + "/program");
}

TEST_CASE("libc is read through its separate debug package", "[unwind]") {
  const TargetProgram target(target_path("symbols_dwarf5"));
  const Nanoseconds begin_ns = process_cpu_now();
  Symbolizer symbolizer(target.pid());
  const Nanoseconds constructed_ns = process_cpu_now();
  const auto qsort = symbolizer.find_function("qsort", "libc.so*");
  const Nanoseconds found_ns = process_cpu_now();
  fmt::print("symbolizer: construction {} µs, first look-up in libc {} µs of CPU time\n",
             (constructed_ns - begin_ns) / kMicrosecond,
             (found_ns - constructed_ns) / kMicrosecond);
  CHECK(constructed_ns - begin_ns < 100 * kMillisecond);
  REQUIRE(qsort.size() == 1);
  if (!symbolizer.has_lines(qsort[0].address)) {
    WARN("libc's lines not tested: libc6-dbg is not installed");
    return;
  }
  CHECK(qsort[0].file.ends_with("msort.c"));
  CHECK(qsort[0].line > 0);
}

TEST_CASE("A process that is gone is TargetGone, one that goes later is no error", "[unwind]") {
  auto target = std::make_unique<TargetProgram>(target_path("symbols_dwarf5"));
  const Pid pid = target->pid();
  const Address address = target->mark(3).address;
  Symbolizer symbolizer(pid);
  symbolizer.frames(address);
  target.reset();
  CHECK_THROWS_AS(Symbolizer(pid), TargetGone);
  symbolizer.refresh();
  CHECK(symbolizer.frames(address)[0].function == "original");
}

}  // namespace causalctl::unwind
