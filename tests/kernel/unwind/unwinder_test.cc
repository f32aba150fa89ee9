// Tests the unwinder on a real stack: a comparison function that qsort of libc called.
#include "unwind/stack/unwinder.h"

#include <asm/perf_regs.h>
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "tests/kernel/unwind/target_program.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::unwind {
namespace {

std::vector<std::string> names(Symbolizer& symbolizer, const std::vector<Address>& chain) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const auto frames = symbolizer.frames(chain[i] - (i == 0 ? 0 : 1));
    result.push_back(frames.empty() ? "?" : frames.back().function);
  }
  return result;
}

std::size_t position(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

constexpr std::size_t kStackBytes = 2048;

}  // namespace

TEST_CASE("A stack is unwound through libc to the program's entry", "[unwind]") {
  const std::string variant =
      GENERATE("symbols_dwarf5", "symbols_no_pie", "symbols_clang5", "stripped");
  const TemporaryDirectory directory;
  std::string path = target_path(variant);
  if (variant == "stripped") {
    path = directory.path() + "/program";
    run_command(fmt::format("objcopy --strip-all {} {}", target_path("symbols_dwarf5"), path));
  }
  if (access(path.c_str(), X_OK) != 0) {
    WARN(variant << " not tested: it was not built");
    return;
  }
  TargetProgram target(path);
  target.send("sort");
  REQUIRE(target.receive() == "sorting");
  Symbolizer symbolizer(target.pid());
  Unwinder unwinder(target.pid());
  const Snapshot sample = snapshot(target.pid(), kStackBytes);
  const auto chain = unwinder.unwind(sample.registers, sample.stack, 64);
  CHECK(unwinder.last_complete());
  const auto functions = names(symbolizer, chain);
  INFO(fmt::format("{}", fmt::join(functions, " < ")));
  CHECK(chain[0] == sample.registers.values[PERF_REG_X86_IP]);
  if (variant != "stripped") {
    // It may still be printing "sorting".
    CHECK(position(functions, "spinning_compare") < position(functions, "sort_caller"));
    CHECK(position(functions, "sort_caller") < position(functions, "main"));
    CHECK(position(functions, "main") + 1 < functions.size());
    CHECK(functions.back() == "_start");
  } else {
    const Address caller = target.entry("sort_caller");
    CHECK(std::any_of(chain.begin(), chain.end(),
                      [&](Address each) { return each > caller && each < caller + 0x80; }));
  }
  // The same chain comes from the cache, and shortened if that is asked for.
  CHECK(unwinder.unwind(sample.registers, sample.stack, 64) == chain);
  const auto shorter = unwinder.unwind(sample.registers, sample.stack, 2);
  CHECK(shorter == std::vector(chain.begin(), chain.begin() + 2));
  CHECK_FALSE(unwinder.last_complete());
}

TEST_CASE("What the copied stack lacks is read from the target", "[unwind]") {
  TargetProgram target(target_path("symbols_dwarf5"));
  target.send("sort");
  REQUIRE(target.receive() == "sorting");
  Unwinder unwinder(target.pid());
  const Snapshot sample = snapshot(target.pid(), kStackBytes);
  const auto chain = unwinder.unwind(sample.registers, sample.stack, 64);
  const auto from_target = unwinder.unwind(sample.registers, {}, 64);
  CHECK(from_target == chain);
  CHECK(unwinder.last_complete());
}

TEST_CASE("Senseless registers end the chain, not the controller", "[unwind]") {
  TargetProgram target(target_path("symbols_dwarf5"));
  Unwinder unwinder(target.pid());
  Registers registers;
  CHECK(unwinder.unwind(registers, {}, 16).size() == 1);
  for (std::uint64_t& each : registers.values) each = 0xdeadbeefdeadbeef;
  CHECK(unwinder.unwind(registers, {}, 16).size() == 1);
  CHECK_FALSE(unwinder.last_complete());
  registers.values[PERF_REG_X86_IP] = target.entry("sort_caller") + 8;
  CHECK(unwinder.unwind(registers, {}, 16).size() == 1);
  CHECK_FALSE(unwinder.last_complete());
  CHECK(unwinder.unwind(registers, {}, 0).empty());
}

TEST_CASE("Unwinding is fast once the functions are known", "[unwind]") {
  TargetProgram target(target_path("symbols_dwarf5"));
  target.send("sort");
  REQUIRE(target.receive() == "sorting");
  Unwinder unwinder(target.pid());
  const Snapshot sample = snapshot(target.pid(), kStackBytes);
  const Nanoseconds begin_ns = process_cpu_now();
  const auto chain = unwinder.unwind(sample.registers, sample.stack, 64);
  const Nanoseconds first_ns = process_cpu_now() - begin_ns;
  constexpr int kRepetitions = 2000;
  for (int i = 0; i < kRepetitions; ++i) unwinder.unwind(sample.registers, sample.stack, 64);
  const Nanoseconds each_ns = (process_cpu_now() - begin_ns - first_ns) / kRepetitions;
  fmt::print("unwinder: {} frames, first {} µs, then {:.1f} µs\n", chain.size(),
             first_ns / kMicrosecond, static_cast<double>(each_ns) / kMicrosecond);
  CHECK(each_ns < kMillisecond);
}

TEST_CASE("Unwinding a process that is gone ends early", "[unwind]") {
  auto target = std::make_unique<TargetProgram>(target_path("symbols_dwarf5"));
  target->send("sort");
  REQUIRE(target->receive() == "sorting");
  const Pid pid = target->pid();
  Unwinder unwinder(pid);
  const Snapshot sample = snapshot(pid, 256);
  target.reset();
  CHECK_FALSE(unwinder.unwind(sample.registers, sample.stack, 64).empty());
  unwinder.refresh();
  CHECK_THROWS_AS(Unwinder(pid), TargetGone);
}

}  // namespace causalctl::unwind
