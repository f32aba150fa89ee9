// Call paths of this very program: from a stack to the unit that is credited.
#include <asm/perf_regs.h>
#include <pthread.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/causal/engine/attribution.h"
#include "controller/causal/experiments/fixed_unit.h"
#include "controller/symbols/scope.h"

#ifdef __clang__  // clang does not know noclone, and makes no clones
#define CAUSALCTL_KEPT __attribute__((noinline))
#else
#define CAUSALCTL_KEPT __attribute__((noinline, noclone))
#endif

namespace call_path_test {

using causalctl::Address;

volatile int sink;
std::array<std::byte, 8192> stack;
std::size_t stack_bytes;
ucontext_t context;

// Copies the registers and the stack as a perf event does.
CAUSALCTL_KEPT void path_callee() {
  getcontext(&context);
  const auto sp = static_cast<Address>(context.uc_mcontext.gregs[REG_RSP]);
  pthread_attr_t attributes;
  void* lowest = nullptr;
  std::size_t size = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_destroy(&attributes);
  const Address end = reinterpret_cast<Address>(lowest) + size;
  stack_bytes = std::min<std::size_t>(stack.size(), end - sp);
  // By the kernel, as AddressSanitizer would object to a reading of frames that are not ours.
  const iovec to{stack.data(), stack_bytes};
  const iovec from{reinterpret_cast<void*>(sp), stack_bytes};
  process_vm_readv(getpid(), &to, 1, &from, 1, 0);
}

CAUSALCTL_KEPT void path_often() {
  path_callee();
  sink = sink + 1;
}

CAUSALCTL_KEPT void path_rarely() {
  path_callee();
  sink = sink + 1;
}

__attribute__((always_inline)) inline void path_inlined() {
  path_callee();
  sink = sink + 1;
}

CAUSALCTL_KEPT void path_mixed() {
  path_inlined();
  sink = sink + 1;
}

template <typename Number>
CAUSALCTL_KEPT bool operator<(const std::array<Number, 3>&, const std::array<double, 2>&) {
  path_callee();
  sink = sink + 1;
  return sink > 0;
}

}  // namespace call_path_test

namespace causalctl::causal {
namespace {

using Catch::Matchers::Contains;

// Credits one stack for each call of `run`, which calls path_callee().
struct Credited {
  explicit Credited(const std::string& name) {
    config::Scope scope;
    auto symbolizer = std::make_unique<unwind::Symbolizer>(getpid());
    FixedUnit fixed = fixed_unit(name, scope, *symbolizer);
    REQUIRE(fixed.path);
    attribution = std::make_unique<Attribution>(
        std::make_unique<symbols::AsyncSymbolizer>(std::move(symbolizer), symbols::wanted_by(scope),
                                                   symbols::Haste::ordinary),
        std::make_unique<unwind::Unwinder>(getpid()), scope);
    attribution->follow(getpid());
    attribution->call(fixed.identity, name);
    attribution->call_path(std::move(*fixed.path));
    attribution->read_mappings();
  }

  void take(const std::function<void()>& run, std::size_t most_bytes = 8192) {
    run();
    const auto& registers = call_path_test::context.uc_mcontext.gregs;
    const std::array<std::pair<int, int>, 8> copied = {{{PERF_REG_X86_BX, REG_RBX},
                                                        {PERF_REG_X86_BP, REG_RBP},
                                                        {PERF_REG_X86_SP, REG_RSP},
                                                        {PERF_REG_X86_IP, REG_RIP},
                                                        {PERF_REG_X86_R12, REG_R12},
                                                        {PERF_REG_X86_R13, REG_R13},
                                                        {PERF_REG_X86_R14, REG_R14},
                                                        {PERF_REG_X86_R15, REG_R15}}};
    perf::SampleEvent sample;
    sample.time_ns = monotonic_now();
    for (const auto& [perf_register, own_register] : copied) {
      sample.user.mask |= std::uint64_t{1} << perf_register;
      sample.user.registers.push_back(static_cast<Address>(registers[own_register]));
    }
    sample.callers = {static_cast<Address>(registers[REG_RIP])};
    sample.user.stack.assign(
        call_path_test::stack.begin(),
        call_path_test::stack.begin() +
            static_cast<std::ptrdiff_t>(std::min(call_path_test::stack_bytes, most_bytes)));
    attribution->pass(sample);
    attribution->charge(sample);
    const Nanoseconds end_ns = monotonic_now() + 60 * kSecond;
    while (attribution->pending() > 0 && monotonic_now() < end_ns) {
      sleep_until(monotonic_now() + kMillisecond);
      attribution->absorb();
    }
    REQUIRE(attribution->pending() == 0);
  }
  const PathCounts& counts() const { return attribution->path_unit()->counts(); }

  std::unique_ptr<Attribution> attribution;
};

std::string refusal_of(const std::string& name, const config::Scope& scope = {}) {
  unwind::Symbolizer symbolizer(getpid());
  try {
    fixed_unit(name, scope, symbolizer);
  } catch (const UsageError& error) {
    return std::string(error.what()) + "\n" + error.hint();
  }
  return "";
}

}  // namespace

TEST_CASE("a stack is credited to the call path of its callers", "[causal][call_path]") {
  const std::string name = "path_callee  < call_path_test::path_often";
  Credited credited(name);
  CHECK_FALSE(credited.attribution->find(name));
  credited.take(call_path_test::path_rarely);
  CHECK_FALSE(credited.attribution->find(name));
  CHECK(credited.counts().in_callee == 1);
  for (int i = 0; i < 3; ++i) credited.take(call_path_test::path_often);
  const auto unit = credited.attribution->find(name);
  REQUIRE(unit);
  CHECK(credited.attribution->count(*unit) == 3);
  CHECK(credited.attribution->unit(*unit).name == "path_callee < call_path_test::path_often");
  CHECK(credited.attribution->find("path_callee < call_path_test::path_often") == unit);
  CHECK(credited.counts().in_callee == 4);
  CHECK(credited.counts().unknown_callers == 0);
  // What is not on the path is in its line.
  CHECK(credited.attribution->total() == 4);
  CHECK(credited.attribution->unknown() == 0);
  CHECK_THAT(credited.attribution->path_unit()->callers_text(),
             Contains("call_path_test::path_often (75 %), call_path_test::path_rarely (25 %)"));
}

TEST_CASE("a caller that was inlined is a caller", "[causal][call_path]") {
  Credited credited("path_callee < path_inlined < path_mixed");
  credited.take(call_path_test::path_mixed);
  credited.take(call_path_test::path_often);
  CHECK(credited.counts().on_path == 1);
  Credited direct("path_callee < path_mixed");
  direct.take(call_path_test::path_mixed);
  CHECK(direct.counts().on_path == 0);
  Credited anywhere("path_callee < ... < path_mixed");
  anywhere.take(call_path_test::path_mixed);
  anywhere.take(call_path_test::path_rarely);
  CHECK(anywhere.counts().on_path == 1);
}

TEST_CASE("an operator is a name in a call path", "[causal][call_path]") {
  const auto compare = [] {
    call_path_test::sink =
        call_path_test::operator<(std::array<int, 3>(), std::array<double, 2>()) ? 1 : 2;
  };
  Credited credited("path_callee < call_path_test::operator<");
  credited.take(compare);
  CHECK(credited.counts().on_path == 1);
}

TEST_CASE("callers above what was copied of the stack are read or unknown, never guessed",
          "[causal][call_path]") {
  // The stack of this thread goes on while it is unwound, so that what is read is of another time.
  Credited credited("path_callee < path_rarely");
  credited.take(call_path_test::path_often, 0);
  CHECK(credited.counts().in_callee == 1);
  CHECK(credited.counts().on_path == 0);
}

TEST_CASE("a call path is refused if a function of it cannot be meant", "[causal][fixed]") {
  call_path_test::path_often();
  CHECK_THAT(refusal_of("path_callee < path_oftn"),
             Contains("--fixed path_callee < path_oftn: path_oftn: no such function"));
  CHECK_THAT(refusal_of("call_path_test::path_calle < path_often"),
             Contains("call_path_test::path_callee"));
  CHECK_THAT(refusal_of("call_path_test::path_callee < "), Contains("a function is missing"));
  CHECK_THAT(refusal_of("call_path_test::path_callee < ..."), Contains("a function is missing"));
  CHECK_THAT(refusal_of("call_path_test.cc:40 < path_often"), Contains("is a line"));
  CHECK_THAT(refusal_of("call_path_test.cc:40x"), Contains("no such function"));
  CHECK_THAT(refusal_of("hcreate < path_often"), Contains("not in scope"));
  CHECK_THAT(refusal_of("path_callee < fixed_unit_test::work_twice"), Contains("is ambiguous"));
  config::Scope later;
  later.binaries.emplace_back("libnotloadedyet.so");
  CHECK_THAT(refusal_of("no_such_function < path_often", later), Contains("loaded by now"));
  std::string many = "call_path_test::path_callee";
  for (std::size_t i = 0; i < kMostSteps; ++i) many += " < call_path_test::path_often";
  CHECK_THAT(refusal_of(many), Contains("at most 16"));
}

}  // namespace causalctl::causal
