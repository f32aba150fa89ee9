// The chain of a sample whose registers and stack were copied.
#include "controller/symbols/call_chain.h"

#include <asm/perf_regs.h>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace causalctl::symbols {
namespace {

TEST_CASE("registers of a sample are those of its mask, in the order of its bits", "[symbols]") {
  perf::SampleEvent sample;
  sample.callers = {0x10, 0x20};
  sample.user.mask = (1U << PERF_REG_X86_AX) | (1U << PERF_REG_X86_IP);
  sample.user.registers = {0x30, 0x40};
  unwind::Unwinder unwinder(getpid());
  // Where there is no code no caller is found.
  CHECK(unwound(sample.user, unwinder, 8) == std::vector<Address>{0x40});
  CHECK(chain_of(sample, unwinder) == sample.callers);
  sample.user.registers.clear();
  CHECK(chain_of(sample, unwinder) == sample.callers);
}

}  // namespace
}  // namespace causalctl::symbols
