// A point counts what its name says, or says what it does not count: compared with the number that
// the program counts by itself.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/kernel/progress/counted_program.h"

using Catch::Matchers::Contains;
using causalctl::counted::Program;

namespace {

std::vector<std::string> compilers(const std::string& flags) {
  std::vector<std::string> all = {"gcc " + flags};
  if (causalctl::counted::has("clang")) all.push_back("clang " + flags);
  return all;
}

void check_count(Program& program, const std::string& spec) {
  const auto counts = program.count(spec);
  CAPTURE(spec);
  CHECK(counts.truth > 0);
  CHECK(counts.visits == counts.truth);
}

// The line that is offered, if any, counts all calls.
void check_line(Program& program, const std::string& told) {
  const auto at = told.find("take prog.c:");
  if (at == std::string::npos) return;
  const auto begin = at + std::string("take ").size();
  check_count(program, told.substr(begin, told.find(',', begin) - begin));
}

constexpr const char* kInlined = R"(volatile long truth;
static volatile long done;
void item_done(void) {
  done++;
  truth++;
}
void (*volatile indirect)(void) = item_done;
void work(long n) {
  if (n % 10 == 0)
    indirect();
  else
    item_done();
}
)";

// Partly inlined by gcc, whose item_done.part.0 is no entry; in a loop that is unrolled.
constexpr const char* kInlinedInLoops = R"(volatile long truth, big, odd;
__attribute__((noinline)) void slow(long x) { big += x; }
void item_done(long x) {
  truth++;
  if (x & 7) return;
  for (long i = 0; i < x; i++) { slow(i); slow(i * 2); slow(i * 3); slow(i + 4); slow(i ^ 5); }
}
void (*volatile indirect)(long) = item_done;
__attribute__((noinline)) void a(long n) {
  for (int i = 0; i < 4; i++) item_done(n + i);
}
void work(long n) {
  a(n);
  item_done(n + 3);
  big++;
  if (n % 10 == 0) indirect(n);
}
)";

constexpr const char* kOnlyInlined = R"(volatile long truth;
static inline __attribute__((always_inline)) void tick(void) {
  truth++;
}
__attribute__((noinline)) void a(void) { tick(); }
__attribute__((noinline)) void b(void) { tick(); }
void work(long n) { (void)n; a(); b(); tick(); }
)";

}  // namespace

TEST_CASE("a function that is also inlined says so, and names a line that counts all calls",
          "[progress]") {
  for (const std::string& compile : compilers("-O2 -g")) {
    CAPTURE(compile);
    Program program(kInlined, compile);
    const std::string told = program.told("item_done");
    CHECK_THAT(told,
               Contains("item_done is also inlined, at prog.c:12.") && Contains("not counted"));
    if (compile.starts_with("gcc")) CHECK_THAT(told, Contains("take prog.c:4"));
    check_line(program, told);
    CHECK(program.told("work").empty());
  }
}

TEST_CASE("a function on one line names that line", "[progress]") {
  Program program(R"(volatile long truth;
void item_done(void) { truth++; }
void (*volatile indirect)(void) = item_done;
void work(long n) { if (n % 10 == 0) indirect(); else item_done(); }
)",
                  "gcc -O2 -g");
  CHECK_THAT(program.told("item_done"), Contains("also inlined") && Contains("take prog.c:2"));
  check_count(program, "prog.c:2");
}

TEST_CASE("the line that is named counts copies in loops and of parts", "[progress]") {
  for (const std::string& compile : compilers("-O2 -g")) {
    CAPTURE(compile);
    Program program(kInlinedInLoops, compile);
    const std::string told = program.told("item_done");
    CAPTURE(told);
    CHECK_THAT(told, Contains("also inlined") && Contains("prog.c:10"));
    check_line(program, told);
  }
}

TEST_CASE("a function that is only inlined names a line that counts all calls", "[progress]") {
  for (const std::string& compile : compilers("-O2 -g")) {
    CAPTURE(compile);
    Program program(kOnlyInlined, compile);
    const std::string told = program.told("tick");
    CHECK_THAT(told, Contains("all its calls are inlined") && Contains("prog.c:5"));
    if (compile.starts_with("gcc")) CHECK_THAT(told, Contains("take prog.c:3"));
    check_line(program, told);
    check_count(program, "prog.c:3");
  }
}

TEST_CASE("copies for constants count as their function", "[progress]") {
  const char* source = R"(volatile long truth, x;
__attribute__((noinline)) long both(long n, long k) {
  truth++;
  for (long i = 0; i < k; i++) { x += n; if (x == 77) x++; }
  return n * k;
}
void work(long n) { both(n, 5); both(n, 5); if (n % 8 == 0) both(n, n); }
)";
  for (const char* flags : {"gcc -O2 -g -fipa-cp-clone", "gcc -O2 -fipa-cp-clone"}) {
    CAPTURE(flags);
    Program program(source, flags);
    CHECK(program.resolve("both").places.size() == 2);
    check_count(program, "both");
    CHECK(program.resolve("both.constprop.0").places.size() == 1);
  }
}

TEST_CASE("a part that was split off is no entry", "[progress]") {
  Program program(kInlinedInLoops, "gcc -O2");
  CHECK(program.resolve("item_done").places.size() == 1);
  Program stat(R"(volatile long truth, big;
static void part(long n) {
  truth++;
  if (n & 1) return;
  for (int i = 0; i < 20; i++) { big += n; truth += big == 12345; big ^= big << 3; }
  for (int i = 0; i < 20; i++) { big -= n; truth += big == 12345; big ^= big << 5; }
}
void work(long n) { part(n); part(n + 2); part(n + 5); }
)",
               "gcc -O2 -g");
  const std::string told = stat.told("part");
  CHECK_THAT(told, Contains("all its calls are inlined"));
  check_line(stat, told);
  CHECK(stat.resolve("part.part.0").places.size() == 1);
}

TEST_CASE("a destructor counts once for each object", "[progress]") {
  const char* source = R"(extern "C" { volatile long truth; void work(long); }
struct A {
  virtual ~A();
};
A::~A() { truth++; }
void work(long n) {
  delete new A;
  if (n % 4 == 0) A a;
}
)";
  std::vector<std::string> all = {"g++ -O0 -g", "g++ -O0"};
  if (causalctl::counted::has("clang++")) all.emplace_back("clang++ -O0 -g");
  for (const std::string& compile : all) {
    CAPTURE(compile);
    Program program(source, compile);
    check_count(program, "A::~A");
  }
}

TEST_CASE("an indirect function counts in the version that was chosen", "[progress]") {
  Program program(R"(volatile long truth, x;
static void step_a(void) { truth++; }
static void step_b(void) { truth++; x++; }
static void* pick(void) { return x ? (void*)step_a : (void*)step_b; }
void step(void) __attribute__((ifunc("pick")));
__attribute__((target_clones("avx2", "default"), noinline)) void sum(void) { x += 3; }
void work(long n) { step(); (void)n; sum(); }
)",
                  "gcc -O2 -g");
  check_count(program, "step");
  check_count(program, "sum");
  CHECK(program.resolve("sum").places.size() == 1);
}

TEST_CASE("memcpy of libc is the version that was chosen", "[progress]") {
  Program program(R"(#include <string.h>
volatile long truth;
static char a[4096], b[4096];
void work(long n) { truth++; memcpy(a, b, (size_t)n); }
)",
                  "gcc -O1 -g -fno-builtin");
  CHECK_THAT(program.told("libc.so.6:memcpy"),
             Contains("memcpy@@GLIBC_2.14") && Contains("memcpy@GLIBC_2.2.5"));
  for (const char* spec : {"memcpy@@GLIBC_2.14", "libc.so.6:memcpy@GLIBC_2.14"}) {
    CAPTURE(spec);
    CHECK(program.resolve(spec).places.size() == 1);
    const auto counts = program.count(spec);
    CHECK(counts.visits >= counts.truth);
    CHECK(counts.visits < counts.truth + 8);  // libc calls it as well
    CHECK_THAT(program.told(spec), Contains("also counts calls of memmove"));
  }
  CHECK_THAT(program.told("memcpy@NO_SUCH"), Contains("no such function"));
}

TEST_CASE("functions that the linker has folded name each other", "[progress]") {
  if (!causalctl::counted::has("ld.gold")) return;
  Program program(R"(volatile long truth;
__attribute__((noinline)) void first(void) { truth++; }
__attribute__((noinline)) void second(void) { truth++; }
void work(long n) { first(); second(); if (n & 1) second(); }
)",
                  "gcc -O2 -g -ffunction-sections -fno-ipa-icf", "-fuse-ld=gold -Wl,--icf=all");
  CHECK_THAT(program.told("first"), Contains("first also counts calls of second:"));
  CHECK_THAT(program.told("second"), Contains("second also counts calls of first:"));
  check_count(program, "first");
}

TEST_CASE("a symbol that the language makes of a function's name is no other name of it",
          "[progress]") {
  Program program(R"(volatile long truth;
__attribute__((noinline)) void item(void) __asm__("item_");
void item(void) { truth++; }
void work(long n) { (void)n; item(); }
)",
                  "gcc -O1 -g");
  CHECK_THAT(program.told("item"), !Contains("also counts"));
  check_count(program, "item");
}

TEST_CASE("labels in code without a type are points if no function has their name", "[progress]") {
  Program program(R"(volatile long truth;
void kernel_step(void);
__asm__(".globl kernel_step\nkernel_step: incq truth(%rip)\nret\n");
void work(long n) { (void)n; kernel_step(); }
)",
                  "gcc -O1 -g");
  check_count(program, "kernel_step");
}

TEST_CASE("a symbol that the assembler gives as a name is demangled", "[progress]") {
  Program program(R"(volatile long truth;
__attribute__((noinline)) void turn(void) __asm__("camlSpin__turn_82");
void turn(void) { truth++; }
void work(long n) { (void)n; turn(); }
)",
                  "gcc -O1 -Wa,-g");
  const auto places = program.resolve("Spin.turn").places;
  REQUIRE(places.size() == 1);
  const auto frames = program.symbolizer().frames(places.front().address);
  REQUIRE(frames.size() == 1);
  CHECK(frames.front().line > 0);
  CHECK(frames.front().function == "Spin.turn_82");
  check_count(program, "Spin.turn_82");
}

TEST_CASE("each version of a symbol can be named", "[progress]") {
  Program program(R"(volatile long truth;
__attribute__((noinline, symver("step@V1"))) void old_step(void) { __asm__ volatile(""); }
__attribute__((noinline, symver("step@@V2"))) void new_step(void) { truth++; }
void work(long n) { new_step(); if (n & 1) old_step(); }
)",
                  "gcc -O1 -g -fPIC",
                  "-rdynamic $(echo 'V1 {}; V2 {} V1;' > v.map; echo -Wl,--version-script=v.map)");
  check_count(program, "step@@V2");
  CHECK(program.count("step@V1").visits == causalctl::counted::kRounds / 2);
}

TEST_CASE("a loop at a function's entry, or on one line, is told", "[progress]") {
  Program program(R"(volatile long truth, x;
__attribute__((noinline)) void looptop(long n) { do { truth++; } while (--n); }
__attribute__((noinline)) void oneline(long n) { for (long i = 0; i < n; i++) x = x + i; }
__attribute__((noinline)) void lines(long n) {
  for (long i = 0; i < n; i++)
    x = x + i;
}
void work(long n) { (void)n; looptop(8); oneline(8); lines(8); }
)",
                  "gcc -O2 -g");
  CHECK_THAT(program.told("looptop"), Contains("begins with a loop"));
  check_count(program, "looptop");
  CHECK_THAT(program.told("prog.c:3"), Contains("its beginning is counted"));
  CHECK(program.count("prog.c:3").visits == causalctl::counted::kRounds);
  CHECK(program.told("prog.c:6").empty());
  CHECK(program.count("prog.c:6").visits == 8 * causalctl::counted::kRounds);
  CHECK(program.told("lines").empty());
}

TEST_CASE("missing .dwo files are named with what is unknown without them", "[progress]") {
  for (const char* version : {"-gdwarf-4", "-gdwarf-5"}) {
    for (const std::string& compile : compilers(std::string("-O2 -g -gsplit-dwarf ") + version)) {
      CAPTURE(compile);
      Program there(kOnlyInlined, compile);
      CHECK(there.told("prog.c:3").empty());
      check_count(there, "prog.c:3");
      Program gone(kOnlyInlined, compile, "", "rm -f prog.dwo");
      CHECK_THAT(gone.told("prog.c:3"), Contains("the .dwo file of prog.c (prog.dwo)"));
      CHECK_THAT(gone.told("a"), Contains("prog.dwo") && Contains("inlined copies are unknown"));
      CHECK_THAT(gone.told("tick"),
                 Contains("no such function") && Contains("the .dwo file of prog.c (prog.dwo)"));
      Program packed(kOnlyInlined, compile, "", "mv prog.dwo prog.dwp");
      CHECK_THAT(packed.told("prog.c:3"), Contains("A package (.dwp)"));
    }
  }
}
