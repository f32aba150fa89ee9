#include "tests/kernel/unwind/symbol_checks.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

namespace causalctl::unwind {

std::vector<Address> addresses(const std::vector<Place>& places) {
  std::vector<Address> result;
  for (const Place& each : places) result.push_back(each.address);
  return result;
}

void check_lines(Symbolizer& symbolizer, const TargetProgram& target) {
  for (const MarkSeen& mark : target.marks()) {
    INFO("mark " << mark.id << " at " << std::hex << mark.address);
    const auto frames = symbolizer.frames(mark.address);
    REQUIRE_FALSE(frames.empty());
    CHECK(frames[0].line == mark.line);
    CHECK(frames[0].file.starts_with("/"));
    const bool in_header = mark.id <= 2;
    CHECK(frames[0].file.ends_with(in_header ? "/symbols_inline.h" : "/symbols_target.cc"));
  }
  const auto frames = symbolizer.frames(target.mark(3).address);
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].function == "original");
  CHECK(frames[0].entry == target.entry("original"));
}

// The order is innermost ← middle (another file) ← outer.
void check_inline_chain(Symbolizer& symbolizer, const TargetProgram& target) {
  std::set<int> call_lines;
  for (const MarkSeen& mark : target.marks()) {
    if (mark.id != 1) continue;
    const auto frames = symbolizer.frames(mark.address);
    REQUIRE(frames.size() == 3);
    CHECK(frames[0].function == "innermost(int)");
    CHECK(frames[1].function == "middle(int)");
    CHECK(frames[2].function == "symbols::outer(int)");
    CHECK(frames[1].file.ends_with("/symbols_inline.h"));
    CHECK(frames[1].line == target.mark(2).line + 1);
    CHECK(frames[2].file.ends_with("/symbols_target.cc"));
    CHECK(frames[2].entry == target.entry("outer"));
    CHECK(frames[0].entry <= mark.address);
    CHECK(frames[0].entry >= frames[2].entry);
    call_lines.insert(frames[2].line);
  }
  CHECK(call_lines.size() == 2);  // two copies, called from two lines
}

std::vector<Address> addresses_of_marks(const TargetProgram& target, unsigned long id) {
  std::vector<Address> marks;
  for (const MarkSeen& mark : target.marks()) {
    if (mark.id == id) marks.push_back(mark.address);
  }
  return marks;
}

void check_find_line(Symbolizer& symbolizer, const TargetProgram& target) {
  // There is one place for each inlined copy, at that copy's own mark.
  const auto places = symbolizer.find_line("symbols_inline.h", target.mark(1).line);
  CHECK(addresses(places) == addresses_of_marks(target, 1));
  for (const Place& place : places) {
    CHECK(place.line == target.mark(1).line);
    CHECK(place.function == "innermost(int)");
  }
  const int line = target.mark(4).line;
  CHECK(symbolizer.find_line("targets/symbols_target.cc", line).size() == 1);
  CHECK(symbolizer.find_line("bols_target.cc", line).empty());
  CHECK(symbolizer.find_line("symbols_target.cc", 100'000).empty());
  CHECK(symbolizer.find_line("symbols_target.cc", 1).empty());
}

void check_find_function(Symbolizer& symbolizer, const TargetProgram& target) {
  const Address original = target.entry("original");
  CHECK(addresses(symbolizer.find_function("original", "")) == std::vector{original});
  CHECK(addresses(symbolizer.find_function("aliased", "")) == std::vector{original});
  const Address overloaded = target.entry("overloaded_int");
  for (const char* name : {"symbols::overloaded(int)", "_ZN7symbols10overloadedEi"}) {
    CHECK(addresses(symbolizer.find_function(name, "")) == std::vector{overloaded});
  }
  CHECK(symbolizer.find_function("symbols::overloaded", "").size() == 2);
  CHECK(symbolizer.find_function("overloaded", "").size() == 2);
  CHECK(symbolizer.find_function("symbols::templated<int>", "").size() == 1);
  CHECK(symbolizer.find_function("cloned", "").size() == 1);  // cloned.constprop.0 by gcc
  CHECK(symbolizer.find_function("main", "MAIN").size() == 1);
  CHECK(symbolizer.find_function("main", "libc*").empty());
  CHECK(symbolizer.find_function("no_such_function", "").empty());
  const auto qsort = symbolizer.find_function("qsort", "");  // only in libc
  REQUIRE(qsort.size() == 1);
  CHECK(symbolizer.module_at(qsort[0].address)->path.find("libc") != std::string::npos);
}

}  // namespace causalctl::unwind
