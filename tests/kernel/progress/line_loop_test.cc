// A point on a line that has a loop says which passes of it count.
#include <catch2/catch.hpp>
#include <string>

#include "tests/kernel/progress/counted_program.h"

using Catch::Matchers::Contains;
using causalctl::counted::kRounds;
using causalctl::counted::Program;

namespace {

constexpr const char* kBeginning = "its beginning is counted, not its iterations";
constexpr const char* kEach = "each iteration is counted";

}  // namespace

TEST_CASE("a loop on one line whose first code is its head counts each iteration", "[progress]") {
  for (const std::string optimization : {"-O0", "-O1", "-O2"}) {
    CAPTURE(optimization);
    Program program(R"(volatile long truth, x;
__attribute__((noinline)) void repeat(long n) {
  truth += 8;
  do { x = x + n; } while (--n);
}
void work(long n) { (void)n; repeat(8); }
)",
                    "gcc -g " + optimization);
    CHECK_THAT(program.told("prog.c:4"), Contains(kEach));
    CHECK(program.count("prog.c:4").visits == 8 * kRounds);
  }
}

TEST_CASE("the inner loop of two, on one line, is told", "[progress]") {
  const std::string source = R"(volatile long truth, x;
__attribute__((noinline)) void nested(int n) {
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < n; i++) x = x + i;
  }
}
void work(long n) { truth++; (void)n; nested(8); }
)";
  Program iterations(source, "gcc -O2 -g");
  CHECK_THAT(iterations.told("prog.c:4"), Contains(kEach));
  CHECK(iterations.count("prog.c:4").visits == 64 * kRounds);
  Program beginning(source, "gcc -O0 -g");
  CHECK_THAT(beginning.told("prog.c:4"), Contains(kBeginning));
  CHECK(beginning.count("prog.c:4").visits == 8 * kRounds);
}

TEST_CASE("a loop on one line over a container counts once", "[progress]") {
  const std::string source = R"(volatile long x;
extern "C" { extern volatile long truth; volatile long truth; void work(long n); }
struct V {
  long *b, *e;
  long* begin() { return b; }
  long* end() { return e; }
};
long numbers[8];
__attribute__((noinline)) void over(V& v) { for (long& i : v) x = x + i; }
void work(long) { truth = truth + 1; V v{numbers, numbers + 8}; over(v); }
)";
  for (const std::string optimization : {"-O1", "-O2"}) {
    CAPTURE(optimization);
    Program program(source, "g++ -g " + optimization);
    CHECK_THAT(program.told("prog.cc:9"), Contains(kBeginning));
    CHECK(program.count("prog.cc:9").visits == kRounds);
  }
  if (!causalctl::counted::has("clang++")) return;
  Program at_its_head(source, "clang++ -g -Os");  // whose jump back is at line 0
  CHECK_THAT(at_its_head.told("prog.cc:9"), Contains(kEach));
  CHECK(at_its_head.count("prog.cc:9").visits == 9 * kRounds);
}

TEST_CASE("a line of many copies tells of its loop", "[progress]") {
  std::string source =
      "volatile long truth, x;\n"
      "static inline __attribute__((always_inline)) void small(long n) {\n"
      "  for (long i = 0; i < n; i++) x = x + i;\n"
      "}\n";
  std::string calls;
  for (int i = 0; i < 10; ++i) {
    const std::string name = "f" + std::to_string(i);
    source += "__attribute__((noinline)) void " + name + "(long n) { x = 1; small(n); x = 2; }\n";
    calls += name + "(8); ";
  }
  Program program(source + "void work(long n) { (void)n; truth += 10; " + calls + "}\n",
                  "gcc -O2 -g -fno-ipa-cp -fno-ipa-icf");
  CHECK_THAT(program.told("prog.c:3"), Contains(kBeginning));
  CHECK(program.count("prog.c:3").visits == 10 * kRounds);
  CHECK(program.told("prog.c:5").empty());  // its call has a loop in it, and counts once
  CHECK(program.count("prog.c:5").visits == kRounds);
}

TEST_CASE("a jump back that closes no loop is no loop", "[progress]") {
  Program program(R"(volatile long truth, x;
__attribute__((noinline, cold)) void rare(void) { x = 0; }
__attribute__((noinline)) long line(long n) {
  x = n; if (n == 77) rare(); x = x + 1; truth++; if (n == 78) rare(); x = x + 2; return x;
}
void work(long n) { for (int i = 0; i < 2; i++) line(n); }
)",
                  "gcc -O2 -g -fno-reorder-blocks-and-partition");
  CHECK(program.told("prog.c:4").empty());
  CHECK(program.count("prog.c:4").visits == 2 * kRounds);
}

TEST_CASE("copies of a loop that count otherwise are told apart", "[progress]") {
  Program program(R"(volatile long truth, x;
__attribute__((always_inline)) static inline void repeat(long n) {
  do { x = x + n; } while (--n);
}
__attribute__((noinline)) void one(long n) { truth++; repeat(n); }
__attribute__((noinline)) void two(void) { truth++; repeat(1); }
void work(long n) { (void)n; one(8); two(); }
)",
                  "gcc -O2 -g -fno-ipa-cp");
  CHECK_THAT(program.told("prog.c:3"), Contains("each iteration is counted at 1 of 2 places"));
  CHECK(program.count("prog.c:3").visits == 9 * kRounds);
}

TEST_CASE("a function within a function's line is counted with it, which is told", "[progress]") {
  Program program(R"(volatile long x;
extern "C" { extern volatile long truth; volatile long truth; void work(long n); }
__attribute__((noinline)) void outer(long n) { auto f = [](long k) { x = x + k; }; f(n); f(n); }
void work(long n) { truth = truth + 3; outer(n); }
)",
                  "g++ -g -O0");
  CHECK_THAT(program.told("prog.cc:3"),
             Contains("has code of outer(long) and of a function within it; both are counted"));
  CHECK(program.count("prog.cc:3").visits == 3 * kRounds);
}

TEST_CASE("a line that is counted before its loop names a line in it", "[progress]") {
  const std::string source = R"(volatile long truth, x, q;
__attribute__((noinline)) int next(void) { return --q >= 0; }
__attribute__((noinline)) void ev(long k) { x += k; }
__attribute__((noinline)) void rotated(long k) {
  q = 5; truth++;
  while (next())
    ev(k);
}
__attribute__((noinline)) void passes(long k) {
  do { ev(4);
  } while (++k < 4);
}
void work(long n) { (void)n; rotated(1); passes(0); }
)";
  const std::string before = " is counted where its loop begins";
  Program rotated(source, "gcc -O3 -g");
  CHECK_THAT(rotated.told("prog.c:6"), Contains("prog.c:6" + before) && Contains("as prog.c:7"));
  CHECK(rotated.count("prog.c:6").visits == kRounds);
  CHECK(rotated.told("prog.c:7").empty());
  CHECK(rotated.count("prog.c:7").visits == 5 * kRounds);
  Program unoptimized(source, "gcc -O0 -g");
  CHECK_THAT(unoptimized.told("prog.c:6"), Contains("as prog.c:7"));
  CHECK(unoptimized.count("prog.c:6").visits == kRounds);
  CHECK(unoptimized.told("prog.c:10").empty());
  if (!causalctl::counted::has("clang")) return;
  Program hoisted(source, "clang -O2 -g");
  CHECK_THAT(hoisted.told("prog.c:10"), Contains("prog.c:10" + before) && Contains("as prog.c:11"));
  CHECK(hoisted.count("prog.c:10").visits == kRounds);
  CHECK(hoisted.count("prog.c:11").visits == 4 * kRounds);
}
