// Tests the reader of callgrind's files on texts as Valgrind 3.19 writes them, in each form of
// compression, and on texts that are damaged.
#include "controller/continuous/counts/callgrind_file.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>

#include "controller/base/error.h"

namespace causalctl::continuous {
namespace {

using Catch::Matchers::Contains;

constexpr const char* kHead =
    "# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\npid: 7\ncmd:  ./program 5\n"
    "part: 1\n\ndesc: Trigger: Program termination\n\npositions: instr line\nevents: Ir\n"
    "summary: 0\n\n";

CallgrindFile read_body(const std::string& body) { return read_callgrind(kHead + body, "file"); }

// Expects an error that tells the line and what is wrong with it.
void check_refused(const std::string& text, const std::string& what) {
  INFO(text);
  try {
    read_callgrind(text, "file");
    FAIL("it was read");
  } catch (const Error& error) {
    CHECK_THAT(error.what(), Contains(what));
    CHECK_THAT(error.hint(), Contains("valgrind --tool=callgrind --dump-instr=yes"));
  }
}

// A loop of three instructions that runs ten times and calls a function of a library each time.
const ExactCounts kLoop = {{{0x1000, 1}, {0x1004, 10}, {0x1008, 10}, {0x100a, 10}, {0x100c, 1}},
                           {{{0x100a, 0x1004}, 9}, {{0x100c, 0x2000}, 1}}};

}  // namespace

TEST_CASE("Counts of callgrind are read, compressed or not", "[continuous]") {
  const std::string uncompressed = R"(ob=/bin/program
fn=main
0x1000 1 1
0x1004 2 10
0x1008 3 10
cob=/lib/library.so
cfn=called
calls=10 0x500 9 
0x1008 3 4000
0x100a 3 10
jcnd=9/10 0x1004 2 
0x100a 3 
0x100c 200 1
jump=1 0x2000 4 
0x100c 200 
ob=/lib/library.so
fn=called
0x500 9 10
totals: 42
)";
  const std::string compressed = R"(ob=(1) /bin/program
fl=(1) a.c
fn=(1) main
4096 1 1
+4 +1 10
+4 +1 10
cob=(2) /lib/library.so
cfi=(2) b.c
cfn=(2) called
calls=10 0x500 +6 
* * 4000
+0x2 * 10
jfi=(2)
jcnd=9/10 -6 -1 
* * 
+2 200 1
jfn=(2)
jump=1 0x2000 -196 
* * 

ob=(2)
fl=(2)
fn=(2)
0x500 9 10

totals: 42
)";
  for (const std::string& body : {uncompressed, compressed}) {
    INFO(body);
    const CallgrindFile file = read_body(body);
    CHECK(file.command == "./program 5");
    REQUIRE(file.objects.size() == 2);
    CHECK(file.objects.at("/bin/program").counts == kLoop);
    CHECK(file.objects.at("/lib/library.so").counts == ExactCounts{{{0x500, 10}}, {}});
  }
}

TEST_CASE("Counts of an instruction in several functions and parts are summed", "[continuous]") {
  const CallgrindFile file = read_body(R"(ob=(1) /bin/program
fn=(1) main
0x10 0 3
jump=2 0x10 0 
* * 
fn=(2) main'2
0x10 0 4
totals: 7

part: 2
desc: Trigger: Dumping
positions: instr line
events: Ir
summary: 5
ob=(1)
fn=(1)
0x10 0 5
jump=4 0x10 0 
* * 
totals: 5
)");
  CHECK(file.objects.at("/bin/program").counts == ExactCounts{{{0x10, 12}}, {{{0x10, 0x10}, 6}}});
}

// Such a jump may be the end of a loop that begins where its function does.
TEST_CASE("Calls within an object are kept, because callgrind takes some jumps for calls",
          "[continuous]") {
  const CallgrindFile file = read_body(R"(ob=(1) /bin/program
fn=(1) main
0x10 0 3
calls=2 0x10 0 
* * 6
cob=(1)
cfn=(2) other
calls=4 0x40 0 
* * 8
cob=(2) /lib/library.so
cfn=(3) third
calls=5 0x80 0 
* * 8
totals: 3
)");
  CHECK(file.objects.at("/bin/program").calls == Jumps{{{0x10, 0x10}, 2}, {{0x10, 0x40}, 4}});
  CHECK(file.objects.at("/bin/program").counts.jumps.empty());
}

TEST_CASE("A call without own cost does not change what positions refer to", "[continuous]") {
  // A part may have the inclusive cost of a function that was called before it began.
  const CallgrindFile file = read_body(R"(ob=(1) /bin/program
fn=(1) main
0x1000 7 1
calls=1 +80 9 
+40 +3 500
+2 +1 6
totals: 7
)");
  CHECK(file.objects.at("/bin/program").counts.instructions ==
        Executions{{0x1000, 1}, {0x1002, 6}});
}

TEST_CASE("Columns are found by name, and left-out costs are zero", "[continuous]") {
  const std::string text =
      "# callgrind format\npositions: line bb instr\nevents: Dr Ir Dw\nob=/bin/program\n"
      "1 0x20 0x20 5 6 7\n1 0x20 0x24 5\n+1 * +4 0 2\ntotals: 10 8 7\n";
  const CallgrindFile file = read_callgrind(text, "file");
  CHECK(file.objects.at("/bin/program").counts.instructions == Executions{{0x20, 6}, {0x28, 2}});
}

TEST_CASE("Calls into code of no object are told, and only these", "[continuous]") {
  const CallgrindFile file = read_body(R"(ob=(1) /bin/program
fn=(1) main
0x10 0 1
cob=(2) ???
cfn=(2) 0x109030 [PLT]
calls=1 0x109030 0 
* * 50
cfn=(3) other
calls=1 0x500 0 
* * 60
ob=(2)
fn=(2)
0x109030 0 1
cob=(2)
calls=1 0x109040 0 
* * 60
totals: 2
)");
  CHECK(file.objects.at("/bin/program").calls_elsewhere == std::set<Jump>{{0x10, 0x109030}});
  CHECK(file.objects.at("???").calls_elsewhere.empty());
  CHECK(file.objects.at("???").counts.instructions == Executions{{0x109030, 1}});
}

TEST_CASE("Files that do not have the counts are refused, with what to do", "[continuous]") {
  const std::string lines = "# callgrind format\npositions: line\nevents: Ir\nob=a\n1 5\n";
  check_refused(lines, "file:2: it has counts of lines");
  check_refused("# callgrind format\nevents: Ir\nob=a\n1 5\n", "file:4: it has counts of lines");
  check_refused("# callgrind format\npositions: instr\nevents: Dr\nob=a\n", "file:3: the event Ir");
  check_refused("# callgrind format\npositions: instr\nob=a\n1 5\n", "file:4: the event Ir");
  check_refused("", "it is empty");
  check_refused("int main(void) { return 0; }\n", "file:1: this is no file of callgrind");
  check_refused(std::string("\x7f"
                            "ELF\0\0\n1 2",
                            10),
                "file:1: this is no file of callgrind");
  check_refused(kHead + std::string("totals: 0\n"), "it has no counts");
}

TEST_CASE("Damaged files of callgrind are refused, with the line", "[continuous]") {
  const auto check_line = [](const std::string& line, const std::string& what) {
    check_refused(kHead + std::string("ob=(1) a\n0x10 0 1\n") + line + "\ntotals: 1\n", what);
  };
  check_line("ob=(2)", "file:16: object 2 has no name");
  check_line("ob=", "file:16: an object has no name");
  check_line("\x01\x02\x03", "file:16: what is this: ???");
  check_line("0x10", "file:16: a position is missing");
  check_line("-0x11 0 1", "-0x11 is no position");
  check_line("+0xffffffffffffffff 0 1", "is no position");
  check_line("0x10000000000000000 0 1", "0x10000000000000000 is no position");
  check_line("0x12 0 9223372036854775808", "9223372036854775808 is no count, or too large");
  check_line("0x12 0 9223372036854775807", "add up to more than 63 bits");
  check_line("0x12 0 5x", "5x is no count");
  check_line("0x12 0 1", "executed 2 times, and it says 1");
  check_line("jump=1 0x20 0", "no line that says from where");
  check_line("jump=x 0x20 0\n* *", "x is no count");
  check_line("jcnd=4 0x20 0\n* *", "one count of two");
  check_line("jcnd=4/3 0x20 0\n* *", "more often than it was executed");
  check_line("positions: instr bb line x", "too many positions");
  check_refused(kHead + std::string("0x10 0 1\n"), "of which object");
  const std::string good =
      kHead + std::string("ob=(1) a\n0x10 0 1\njump=1 0x20 0 \n* * \ntotals: 1");
  CHECK_NOTHROW(read_callgrind(good, "file"));
  for (std::size_t size = 0; size < good.size(); ++size) {
    INFO(size);
    CHECK_THROWS_AS(read_callgrind(good.substr(0, size), "file"), Error);
  }
}

}  // namespace causalctl::continuous
