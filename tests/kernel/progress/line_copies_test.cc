// A line counts all copies of its statement that the compiler made within a function, or says that
// it may not. The programs are clang's, which does not mark where a statement begins, or gcc's
// without such marks.
#include <catch2/catch.hpp>
#include <string>

#include "tests/kernel/progress/counted_program.h"

using Catch::Matchers::Contains;
using causalctl::counted::kRounds;
using causalctl::counted::Program;

namespace {

constexpr const char* kPart = "so the count may be a part of the executions";
constexpr const char* kInOnePass = "several iterations of a loop in one pass";

const std::string kItem =
    "volatile long truth, x;\n"
    "__attribute__((noinline)) void item(long n) { x = x + n; }\n";

}  // namespace

TEST_CASE("a call in a loop that clang has unrolled counts in all copies", "[progress]") {
  if (!causalctl::counted::has("clang")) return;
  Program partly(kItem + R"(__attribute__((noinline)) void batch(long n, int f) {
#pragma clang loop unroll_count(4)
  for (long i = 0; i < n; i++) {
    if (f) x = x + 2;
    item(i);
    truth++;
  }
}
void work(long n) { batch(11, n & 1); }
)",
                 "clang -O2 -g");
  CHECK(partly.count("prog.c:7").visits == 11 * kRounds);
  CHECK(partly.told("prog.c:7").empty());

  Program whole(kItem + R"(__attribute__((noinline)) void batch(const long* a) {
  for (long i = 0; i < 8; i++) {
    long k = a[i];
    item(k);
  }
}
const long numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8};
void work(long n) { (void)n; truth += 8; batch(numbers); }
)",
                "clang -O2 -g");
  CHECK(whole.count("prog.c:6").visits == 8 * kRounds);
}

TEST_CASE("a call in a loop that clang has unswitched counts in all copies", "[progress]") {
  if (!causalctl::counted::has("clang")) return;
  Program program(kItem + R"(__attribute__((noinline)) void serve(int n, int verbose) {
  for (int i = 0; i < n; i++) {
    if (verbose) x = x + 7;
    item(i);
    if (verbose) x = x + 9;
  }
}
void work(long n) { truth += 4; serve(4, n & 1); }
)",
                  "clang -O3 -g");
  CHECK(program.count("prog.c:6").visits == 4 * kRounds);
}

TEST_CASE("iterations that clang does in one pass are told", "[progress]") {
  if (!causalctl::counted::has("clang")) return;
  Program program(R"(volatile long truth;
int a[64], b[64];
__attribute__((noinline)) void add(int* restrict x, int* restrict y) {
  for (int i = 0; i < 16; i++)
    x[i] += y[i];
}
__attribute__((noinline)) void toggle(volatile int* x, int n) {
  for (int i = 0; i < n; i++)
    *x ^= i;
}
void work(long n) { (void)n; truth++; add(a, b); toggle(a, 16); }
)",
                  "clang -O2 -g");
  CHECK_THAT(program.told("prog.c:5"), Contains(kInOnePass));
  CHECK_THAT(program.told("prog.c:9"), Contains(kInOnePass));
}

TEST_CASE("what gcc does in one pass is told", "[progress]") {
  Program program(R"(volatile long truth;
int a[64], b[64];
__attribute__((noinline)) void add(int* restrict x, int* restrict y, int n) {
  for (int i = 0; i < n; i++)
    x[i] += y[i];
}
void work(long n) { (void)n; truth++; add(a, b, 16); }
)",
                  "gcc -O3 -g");
  CHECK_THAT(program.told("prog.c:5"), Contains(kInOnePass));
}

TEST_CASE("parts of one statement are no copies of it", "[progress]") {
  const std::string source = R"(volatile long truth, x, y;
__attribute__((noinline)) long f(long n) { return n + x; }
__attribute__((noinline)) long g(long n) { return n ^ x; }
__attribute__((noinline)) void body(long k) {
  long a = k;
  truth++; x = f(a) + g(a + 1) * f(a - 2) + y;
  long b = a * x;
  y = g(b) + f(b);
  for (volatile long i = 0; i < 3; i++) {
    x = y;
  }
}
void work(long n) { body(n); }
)";
  for (const std::string compile :
       {"gcc -O2 -g -gno-column-info -gno-statement-frontiers",
        "gcc -O2 -g -gno-statement-frontiers", "gcc -O2 -g -gno-column-info", "gcc -O2 -g",
        "clang -O2 -g", "clang -O0 -g"}) {
    CAPTURE(compile);
    if (!causalctl::counted::has(compile.substr(0, compile.find(' ')))) continue;
    Program program(source, compile);
    for (const std::string line : {"prog.c:6", "prog.c:8"}) {
      CAPTURE(line, program.told(line));
      CHECK(program.count(line).visits == kRounds);
      CHECK(program.told(line).find(kPart) == std::string::npos);
    }
    if (compile.find("-gno-column-info") != std::string::npos)
      continue;  // nothing tells parts apart
    CHECK(program.told("prog.c:9").find(kPart) == std::string::npos);
  }
}

TEST_CASE("a line is found where it has the number of the line of another file", "[progress]") {
  if (!causalctl::counted::has("clang")) return;
  const std::string source = R"(extern volatile long truth;
#line 3 "h.h"
static inline void step(long n) {
  truth += n != 0;
  truth += n == 0; }
#line 1 "prog.c"
struct Node { struct Node* next; long v; };
volatile long truth;
static struct Node last = {0, 3}, second = {&last, 2}, first = {&second, 1};
void each(struct Node* at) { for (; at; at = at->next) step(at->v);
  step(9); }
void work(long n) { each(n & 1 ? &first : &second); }
)";
  for (const char* compile : {"clang -O2 -g", "clang -O2 -gline-tables-only", "clang -O1 -g"}) {
    CAPTURE(compile);
    Program program(source, compile);
    const auto counts = program.count("h.h:4");
    CHECK(counts.truth > 0);
    CHECK(counts.visits == counts.truth);
  }
}
