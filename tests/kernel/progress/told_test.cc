// What a function as a point does not count is told: copies that other units, partial units or the
// symbols alone know of, other functions of the name, other binaries.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>

#include "tests/kernel/progress/counted_program.h"

using Catch::Matchers::Contains;
using causalctl::counted::Program;

namespace {

// Compiles the source once with PART=1 and once with PART=2, and links the two.
Program of_two_units(const std::string& source, const std::string& compile,
                     const std::string& link = "", const std::string& after = "true") {
  const std::string file = compile.find("++") != std::string::npos ? "prog.cc" : "prog.c";
  return {source, compile, link,
          fmt::format("{0} -DPART=1 -c {1} -o a.o && {0} -DPART=2 -c {1} -o b.o && "
                      "{0} a.o b.o driver.o -o prog {2} && {3}",
                      compile, file, link, after)};
}

// Makes libx.so of the source and links it.
std::string with_library(const std::string& source, const std::string& flags = "-O2 -g") {
  return fmt::format(
      "$(echo '{}' > x.c; cc -shared -fPIC {} x.c -o libx.so) -Wl,--no-as-needed "
      "-L. -lx -Wl,-rpath,$PWD",
      source, flags);
}

void check_all(Program& program, const std::string& spec) {
  const auto counts = program.count(spec);
  CHECK(counts.truth > 0);
  CHECK(counts.visits == counts.truth);
}

constexpr const char* kTwoUnits = R"(#ifndef PART
#define PART 3
#endif
extern volatile long truth;
void item_done(void);
void twice(void);
#if PART & 1
volatile long truth;
void item_done(void) {
  truth++;
}
void twice(void) { item_done(); item_done(); }
#endif
#if PART & 2
void (*volatile indirect)(void) = item_done;
void work(long n) {
  twice();
  item_done();
  if (n % 10 == 0) indirect();
}
#endif
)";

constexpr const char* kStatics = R"(#ifndef PART
#define PART 2
#define first(n)
#endif
extern volatile long truth;
#ifndef first
void first(long n);
#endif
#if PART & 1
volatile long mine;
static __attribute__((noinline)) void done(long n) { mine += n; }
void first(long n) { done(n); done(n + 1); }
#else
volatile long truth;
static void done(long n) {
  truth += n > -1;
}
void work(long n) {
  first(n);
  done(n);
}
#endif
)";

// A file that dwz has made smaller: `how` is the command in the program's folder.
Program by_dwz(const std::string& how) {
  const std::string source = R"(#ifndef PART
#define PART 3
#endif
extern "C" { extern volatile long truth; void work(long); }
inline void item_done(long x) { truth++; for (volatile long i = 0; i < x % 3; i++); }
void other(long n);
#if PART & 1
extern "C" { volatile long truth; }
void (*volatile indirect)(long) = item_done;
void other(long n) { item_done(n); item_done(n + 1); }
#endif
#if PART & 2
void work(long n) { other(n); item_done(n); }
#endif
)";
  return of_two_units(source, "g++ -O2 -g", "", how);
}

}  // namespace

TEST_CASE("copies are told whatever unit describes the function", "[progress]") {
  std::vector<std::pair<std::string, std::string>> all = {{"gcc -O2 -g -flto", ""}};
  if (causalctl::counted::has("clang") && causalctl::counted::has("ld.lld")) {
    all.emplace_back("clang -O2 -g -flto", "-fuse-ld=lld");
    all.emplace_back("clang -O2 -g1 -flto=thin", "-fuse-ld=lld");
    all.emplace_back("clang -O2 -g1", "");
    all.emplace_back("clang -O2 -gline-tables-only", "");
  }
  for (const auto& [compile, link] : all) {
    CAPTURE(compile);
    Program program = of_two_units(kTwoUnits, compile, link);
    CHECK_THAT(program.told("item_done"), Contains("item_done is also inlined, at prog.c:1"));
  }
}

TEST_CASE("copies are told where dwz has moved their function", "[progress]") {
  if (!causalctl::counted::has("dwz")) return;
  Program program = by_dwz("dwz prog");
  CHECK_THAT(program.told("item_done"), Contains("is also inlined, at prog.cc:10, prog.cc:13"));
}

TEST_CASE("that dwz's supplementary file is missing is told", "[progress]") {
  if (!causalctl::counted::has("dwz")) return;
  Program program = by_dwz("cp prog other && dwz -m common.debug prog other && rm common.debug");
  CHECK_THAT(program.told("item_done"), Contains("no debug information of inlined copies"));
}

TEST_CASE("a function that only a symbol tells of has no copies", "[progress]") {
  if (!causalctl::counted::has("clang")) return;
  Program program = of_two_units(kTwoUnits, "clang -O2 -g1", "");
  CHECK(program.told("work").empty());
}

TEST_CASE("where nothing tells of copies, that is told", "[progress]") {
  for (const char* flags : {"gcc -O2", "gcc -O2 -s"}) {
    CAPTURE(flags);
    Program program(kTwoUnits, flags, "-rdynamic");
    CHECK_THAT(program.told("item_done"), Contains("no debug information of inlined copies"));
    CHECK_THAT(program.told("libc.so.6:malloc"), !Contains("inlined copies"));
  }
}

TEST_CASE("copies of a header's code in files without debug information are told", "[progress]") {
  const std::string source = R"(extern volatile long truth;
#line 1 "h.h"
static inline void item_done(long n) { truth += n != 0;
  truth += n == 0; }
#line 5 "prog.c"
void other(long n);
#ifdef OTHER
void other(long n) { item_done(n); item_done(n); }
#else
volatile long truth;
void (*volatile indirect)(long) = item_done;
void work(long n) { indirect(n); other(n); }
#endif
)";
  Program mixed(source, "gcc -O2 -g", "-g0 -DOTHER prog.c");
  const std::string text = "is of a header, and other";
  CHECK_THAT(mixed.told("item_done"), Contains(text) && Contains("was inlined there is not"));
  CHECK_THAT(mixed.told("h.h:2"), Contains(text));
  CHECK(mixed.told("work").empty());
  CHECK(mixed.count("item_done").visits == causalctl::counted::kRounds);
  Program all(source, "gcc -O2 -g", "-DOTHER prog.c");
  CHECK_THAT(all.told("item_done"), Contains("also inlined"));
}

TEST_CASE("inlined destructors are told", "[progress]") {
  Program program(R"(extern "C" { volatile long truth; void work(long); }
struct Base {
  virtual ~Base() { truth++; }
};
struct Other : Base {
  ~Other();
};
Other::~Other() {}
void work(long n) {
  Base one;
  if (n % 4 == 0) delete new Base;
  Other two;
}
)",
                  "g++ -O2 -g");
  CHECK_THAT(program.told("Base::~Base"), Contains("is also inlined, at prog.cc:"));
}

TEST_CASE("a private function of a library is not taken for an inlined one", "[progress]") {
  const std::string source = R"(volatile long truth;
extern void from_library(void);
static inline __attribute__((always_inline)) void commit(void) { truth++; }
void work(long n) { if (n >= 0) { commit(); from_library(); } }
)";
  Program program(
      source, "gcc -O2 -g",
      with_library("volatile long x; static __attribute__((noinline)) void commit(void) "
                   "{ x++; } void from_library(void) { commit(); } void open_one(void) "
                   "{ x += 2; }"));
  CHECK_THAT(program.told("commit"), Contains("all its calls are inlined, at prog.c:4") &&
                                         Contains("private to libx.so: libx.so:commit"));
  CHECK(program.resolve("libx.so:commit").places.size() == 1);
  CHECK_THAT(program.told("open_one"), Contains("open_one is in libx.so, not in the executable"));
}

TEST_CASE("another function of the same name is told", "[progress]") {
  Program inlined = of_two_units(kStatics, "gcc -O2 -g");
  CHECK_THAT(inlined.told("done"), Contains("another function that done may mean is inlined, at "
                                            "prog.c:20"));
}

TEST_CASE("static functions that link-time optimisation renames are told", "[progress]") {
  if (!causalctl::counted::has("clang") || !causalctl::counted::has("ld.lld")) return;
  const std::string source = R"(#ifndef PART
#define PART 3
#endif
extern volatile long truth;
void first(long n);
#if PART & 1
volatile long truth;
#endif
#if PART == 1 || PART == 2
static __attribute__((noinline)) void step(long n) { truth += n + PART; truth -= n + PART - 1; }
#endif
#if PART == 1
void first(long n) { step(n); step(n + 1); }
#endif
#if PART == 2
void work(long n) { first(n); step(n); }
#endif
#if PART == 3
void work(long n) { truth += n; }
#endif
)";
  Program named = of_two_units(source, "clang -O2 -flto", "-fuse-ld=lld");
  CHECK(named.resolve("step").places.size() == 2);
  CHECK_THAT(named.told("step"), Contains("step has 2 entries by its symbols, all counted"));
}

TEST_CASE("nested functions have their names of the source", "[progress]") {
  const std::string source = R"(volatile long truth, sum;
__attribute__((noinline)) void outer(long n) {
  __attribute__((noinline)) void inner(long k, long step) { truth++; sum += k * step; }
  inner(n, 7);
  inner(n + 1, 7);
}
void work(long n) { outer(n); }
)";
  for (const char* compile : {"gcc -O2 -g", "gcc -O2", "gcc -O1 -g"}) {
    CAPTURE(compile);
    Program program(source, compile);
    check_all(program, "inner");
  }
}

TEST_CASE("thunks with a copy of the function's body are counted", "[progress]") {
  const std::string source = R"(extern "C" { volatile long truth; void work(long); }
struct A { virtual void other() {} virtual ~A() {} long a; };
struct B { virtual void on_event(long n) = 0; virtual ~B() {} long b; };
struct M : A, B { void on_event(long n) override; };
void M::on_event(long n) { truth++; a += n; b ^= a; }
static M m;
B* volatile as_b = &m;
M* volatile as_m = &m;
void work(long n) { as_b->on_event(n); as_b->on_event(n + 1); as_m->on_event(n); }
)";
  std::vector<std::string> all = {"g++ -O2 -g -fno-devirtualize", "g++ -O2 -fno-devirtualize",
                                  "g++ -O0 -g"};
  if (causalctl::counted::has("clang++")) all.emplace_back("clang++ -O1 -fno-inline");
  for (const std::string& compile : all) {
    CAPTURE(compile);
    Program program(source, compile, "-lstdc++");
    check_all(program, "M::on_event");
    CHECK_THAT(program.told("M::on_event"), !Contains("also inlined"));
    if (compile.starts_with("g++ -O2 -g")) {
      CHECK_THAT(program.told("prog.cc:5"), Contains("prog.cc:5 has a copy without lines"));
    }
  }
}

TEST_CASE("templates of D that are only inlined are told", "[progress]") {
  if (!causalctl::counted::has("ldc2")) return;
  Program program("volatile long truth; void work(long n) { truth += n; }", "gcc -O1 -g", "",
                  "echo 'extern(C) __gshared long truth; pragma(inline, true) void step(T)(T n) { "
                  "truth += n; } extern(C) void work(long n) { step(n); }' > d.d && "
                  "ldc2 -O -g -betterC -c d.d -of=d.o && cc d.o driver.o -o prog");
  CHECK_THAT(program.told("step!long"), Contains("inlined, at d.d:1"));
  CHECK_THAT(program.told("step"), Contains("inlined, at d.d:1"));
}

TEST_CASE("a function is described by its own line", "[progress]") {
  Program program(R"(extern "C" { volatile long truth; void work(long); }
static inline __attribute__((always_inline)) void first(void) { truth++; }
namespace a { __attribute__((noinline)) void step() {
  first(); } }
namespace b { __attribute__((noinline)) void step() {
  first(); truth--; } }
void work(long) { a::step(); b::step(); }
)",
                  "g++ -O2 -g");
  CHECK_THAT(program.told("step"), Contains("prog.cc:3)") && Contains("prog.cc:5)"));
}

TEST_CASE("the same function in a library is told", "[progress]") {
  const std::string source = R"(volatile long truth;
extern void from_library(void);
#include <h.h>
void work(long n) { if (n >= 0) { item_done(); from_library(); } }
)";
  const std::string header =
      "echo 'extern volatile long truth; static __attribute__((noinline)) void item_done(void) { "
      "truth = truth + 1; }' > h.h;";
  Program program(source, "$(" + header + ") gcc -O2 -g -I.",
                  with_library("volatile long truth;\n#include \"h.h\"\nvoid from_library(void) { "
                               "item_done(); }",
                               "-O2 -g -I."));
  CHECK_THAT(program.told("item_done"),
             Contains("item_done is also in libx.so") && Contains("--progress libx.so:item_done"));
  CHECK_THAT(program.told("h.h:1"), Contains("h.h:1 is also in libx.so"));
}

// The linker, or the library's compiler, decides whether the executable's function takes the place
// of the library's.
TEST_CASE("a function of a library that its own calls enter is told", "[progress]") {
  const std::string source = R"(volatile long truth;
extern void from_library(void);
__attribute__((noinline)) void item(void) { truth++; }
void work(long n) { if (n >= 0) { item(); from_library(); } }
)";
  const std::string library =
      "volatile long others; SEEN __attribute__((noinline)) void item(void) { others++; }\n"
      "void from_library(void) { item(); }";
  struct Case {
    const char* flags;
    bool enters_own;
  };
  for (const auto& [flags, enters_own] :
       {Case{"-O2 -g -DSEEN= -Wl,-Bsymbolic", true},
        {"-O2 -DSEEN= -Wl,-Bsymbolic", true},
        {"-O2 -g -DSEEN= -fno-semantic-interposition", true},
        {"-O2 -g -DSEEN=__attribute__\\(\\(visibility\\(\\\"protected\\\"\\)\\)\\)", true},
        {"-O2 -g -DSEEN=", false}}) {
    CAPTURE(flags);
    Program program(source, "gcc -O2 -g", "-rdynamic " + with_library(library, flags));
    const std::string told = program.told("item");
    CHECK((told.find("item is also in libx.so, where it is not counted") != std::string::npos) ==
          enters_own);
    const auto counts = program.count("item");
    CHECK(counts.visits == counts.truth);
    CHECK(counts.truth == (enters_own ? 1 : 2) * causalctl::counted::kRounds);
  }
}
