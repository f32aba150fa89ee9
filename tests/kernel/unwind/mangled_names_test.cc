// Functions of this program that have symbols as the compilers of several languages write them.
#include <unistd.h>

#include <catch2/catch.hpp>

#include "controller/base/error.h"
#include "controller/progress/progress.h"
#include "unwind/names/symbolizer.h"

namespace {
volatile int marker;
}

extern "C" {
void rust_legacy() __asm__("_ZN12mangled_test9item_done17hee40db41c9a7d77bE");
void rust_v0() __asm__("_RNvCsbsFkZsjFIc5_7newrust9item_done");
void d_put() __asm__("_D11mangled_app3Box3putMFiZv");
void fortran_step() __asm__("__mangled_mod_MOD_do_step");
void caml_work() __asm__("camlMangled__caml_work_272");
void of_class() __asm__("_ZN13mangled_class14turn_the_wheelEv");

__attribute__((noinline)) void rust_legacy() { marker = 1; }
__attribute__((noinline)) void rust_v0() { marker = 2; }
__attribute__((noinline)) void d_put() { marker = 3; }
__attribute__((noinline)) void fortran_step() { marker = 4; }
__attribute__((noinline)) void caml_work() { marker = 6; }
__attribute__((noinline)) void of_class() { marker = 7; }
}
__asm__(R"(
.text
.type "mangled.(*T).Method", @function
"mangled.(*T).Method": ret
.size "mangled.(*T).Method", 1
.type _ZThn16_N13mangled_class14turn_the_wheelEv, @function
_ZThn16_N13mangled_class14turn_the_wheelEv:
sub $16, %rdi
jmp _ZN13mangled_class14turn_the_wheelEv
.size _ZThn16_N13mangled_class14turn_the_wheelEv, .-_ZThn16_N13mangled_class14turn_the_wheelEv
.section .data.rel.local, "aw"
.globl go_method
go_method: .quad "mangled.(*T).Method"
.text
)");
extern "C" void (*go_method)();

namespace causalctl::unwind {
namespace {

Address address_of(void (*function)()) { return reinterpret_cast<Address>(function); }

}  // namespace

TEST_CASE("Functions of other languages are found and shown by their names", "[unwind]") {
  Symbolizer symbolizer(getpid());
  struct Case {
    void (*function)();
    std::string shown;
    std::vector<std::string> names;
  };
  const std::vector<Case> cases = {
      {rust_legacy, "mangled_test::item_done", {"mangled_test::item_done"}},
      {rust_v0, "newrust::item_done", {"newrust::item_done"}},
      {d_put, "mangled_app.Box.put(int)", {"mangled_app.Box.put", "Box.put"}},
      {fortran_step, "mangled_mod::do_step", {"do_step", "Mangled_Mod::Do_Step"}},
      {caml_work, "Mangled.caml_work_272", {"caml_work", "Mangled.caml_work"}},
      {go_method, "mangled.(*T).Method", {"mangled.(*T).Method", "mangled.T.Method"}},
  };
  for (const Case& one : cases) {
    const Address address = address_of(one.function);
    CHECK(symbolizer.frames(address).back().function == one.shown);
    for (std::string name : one.names) {
      for (const std::string& spec : {name, "kernel_tests:" + name, "MAIN:" + one.shown}) {
        INFO(spec);
        const auto point = progress::resolve(spec, getpid(), symbolizer);
        REQUIRE(point.places.size() == 1);
        CHECK(point.places.front().address == address);
      }
    }
  }
}

TEST_CASE("A thunk is no entry of its function", "[unwind]") {
  Symbolizer symbolizer(getpid());
  const auto point = progress::resolve("turn_the_wheel", getpid(), symbolizer);
  REQUIRE(point.places.size() == 1);
  CHECK(point.places.front().address == address_of(of_class));
}

TEST_CASE("A name that several functions have is refused with one name for each", "[unwind]") {
  using Catch::Matchers::Contains;
  Symbolizer symbolizer(getpid());
  const auto resolve = [&](const std::string& name) {
    return progress::resolve(name, getpid(), symbolizer);
  };
  CHECK_THROWS_WITH(resolve("item_done"), Contains("\n  mangled_test::item_done ") &&
                                              Contains("\n  newrust::item_done "));
  CHECK_THROWS_WITH(resolve("newrust::item_dne"), Contains("nearest: newrust::item_done"));
  CHECK_THROWS_WITH(resolve("mangled.T.Methd"), Contains("'mangled.(*T).Method'"));
}

}  // namespace causalctl::unwind
