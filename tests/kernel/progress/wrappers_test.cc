// Entries of a C++ function that only lead to another of its entries do not count, and those with a
// copy of its body do, also where calls and jumps go through the linkage table.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/kernel/progress/counted_program.h"

using causalctl::counted::InLibrary;
using causalctl::counted::Program;

namespace {

std::vector<std::string> all_compilers(const std::vector<std::string>& of_gcc,
                                       const std::vector<std::string>& of_clang) {
  std::vector<std::string> all = of_gcc;
  if (causalctl::counted::has("clang++")) all.insert(all.end(), of_clang.begin(), of_clang.end());
  return all;
}

void check_library(Program& program, const std::string& spec) {
  const auto counts = program.count(spec);
  CHECK(counts.truth > 0);
  CHECK(counts.visits == counts.truth);
}

constexpr const char* kJumpingBody = R"(extern "C" { volatile long truth; void work(long); }
extern "C" void other(long n) { static volatile long sum; sum = sum + n; }
void (*volatile indirect)(long) = other;
struct A { virtual void first() {} virtual ~A() {} long a; };
struct B { virtual void on_event(long n) = 0; virtual ~B() {} long b; };
struct M : A, B { void on_event(long n) override; };
#if KIND == 1
void M::on_event(long n) { truth++; other(n); }
#elif KIND == 2
void M::on_event(long n) { truth++; indirect(n); }
#else
extern "C" void hit(void*) { truth++; }
void M::on_event(long) { hit(static_cast<B*>(this)); }
#endif
static M m;
B* volatile as_b = &m;
M* volatile as_m = &m;
void work(long n) { as_b->on_event(n); as_b->on_event(n + 1); as_m->on_event(n); }
)";

constexpr const char* kDestructors = R"(extern "C" { volatile long truth; void work(long); }
struct A { virtual void first() {} virtual ~A(); long a; };
struct B { virtual void second() {} virtual ~B() {} long b; };
struct M : A, B { M(); ~M() override; };
A::~A() { a = 1; }
M::M() { a = b = 2; }
M::~M() { truth++; for (volatile long i = 0; i < 3; i++) a += i; }
B* volatile as_b;
void work(long n) {
  delete new M;
  as_b = new M;
  delete as_b;
  if (n % 4 == 0) M m;
}
)";

constexpr const char* kConstructors = R"(extern "C" { volatile long truth; void work(long); }
struct V { virtual ~V() {} long v = 1; };
struct A : virtual V { A(long n); };
struct D : A { D(long n) : A(n) {} };
A::A(long n) { truth++; v += n; for (volatile long i = 0; i < 3; i++) v += i; }
struct P { P(long n); long p; };
P::P(long n) : p(n) { truth++; for (volatile long i = 0; i < 3; i++) p += i; }
void work(long n) { KIND a(n); KIND b(n + 1); }
)";

constexpr const char* kCovariant = R"(extern "C" { volatile long truth; void work(long); }
struct A { virtual void first() {} virtual ~A() {} long a; };
struct B { virtual B* clone(); virtual ~B() {} long b; };
struct M : A, B { M* clone() override; };
B* B::clone() { return this; }
M* M::clone() { truth++; for (volatile long i = 0; i < 3; i++) a += i; return this; }
static M m;
B* volatile as_b = &m;
M* volatile as_m = &m;
B* volatile cloned;
void work(long) { cloned = as_b->clone(); cloned = as_b->clone(); cloned = as_m->clone(); }
)";

}  // namespace

TEST_CASE("thunks with a body that ends in a jump are counted", "[progress]") {
  for (const std::string& compile :
       all_compilers({"g++ -O2 -g", "g++ -O2", "g++ -O2 -g -fno-plt", "g++ -O1 -g"},
                     {"clang++ -O2 -g", "clang++ -O1 -g -fno-inline", "clang++ -O0 -g"})) {
    for (const int kind : {1, 2, 3}) {
      CAPTURE(compile, kind);
      Program program(
          InLibrary{kJumpingBody, fmt::format("{} -fno-devirtualize -DKIND={}", compile, kind)});
      check_library(program, "M::on_event");
    }
  }
}

TEST_CASE("a library's destructor counts once for each object", "[progress]") {
  for (const std::string& compile :
       all_compilers({"g++ -O0 -g", "g++ -O2 -g", "g++ -O2 -fno-plt", "g++ -O2 -Wl,-z,now"},
                     {"clang++ -O0 -g", "clang++ -O1 -fno-inline", "clang++ -O2 -g"})) {
    CAPTURE(compile);
    Program program(InLibrary{kDestructors, compile});
    check_library(program, "M::~M");
  }
}

TEST_CASE("a library's constructor counts once for each object", "[progress]") {
  for (const std::string& compile : all_compilers(
           {"g++ -O0 -g", "g++ -O2 -g"}, {"clang++ -O0 -g", "clang++ -O1 -g -fno-inline"})) {
    for (const std::string type : {"A", "D", "P"}) {
      CAPTURE(compile, type);
      Program program(InLibrary{kConstructors, compile + " -DKIND=" + type});
      check_library(program, type == "P" ? "P::P" : "A::A");
    }
  }
}

TEST_CASE("a function that returns a pointer to its class counts once for each call",
          "[progress]") {
  for (const std::string& compile :
       all_compilers({"g++ -O0 -g", "g++ -O2 -g -fno-devirtualize"},
                     {"clang++ -O0 -g", "clang++ -O1 -fno-inline", "clang++ -O2 -g"})) {
    CAPTURE(compile);
    Program program(InLibrary{kCovariant, compile});
    check_library(program, "M::clone");
  }
}

TEST_CASE("a destructor that destroys others of its class counts each object", "[progress]") {
  const std::string source = R"(extern "C" { volatile long truth; void work(long); }
struct Node final {
  Node(long depth) : left(depth > 0 ? new Node(depth - 1) : nullptr),
                     right(depth > 0 ? new Node(depth - 1) : nullptr) {}
  virtual ~Node();
  Node *left, *right;
};
Node::~Node() { truth++; delete left; delete right; }
Node* volatile root;
void work(long n) { root = new Node(n % 5); delete root; }
)";
  for (const std::string& compile : all_compilers({"g++ -O0 -g", "g++ -O2 -g", "g++ -Os"},
                                                  {"clang++ -O0 -g", "clang++ -O2 -g"})) {
    CAPTURE(compile);
    Program program(InLibrary{source, compile});
    check_library(program, "Node::~Node");
  }
}
