#include "controller/commands/sampled_chain.h"

#include <cstddef>
#include <iterator>

namespace causalctl::commands {
namespace {

constexpr std::size_t kDepth = 64;

}  // namespace

std::vector<Address> chain_of(const perf::SampleEvent& sample, unwind::Unwinder& unwinder) {
  if (sample.user.registers.empty()) return sample.callers;
  unwind::Registers registers;
  std::size_t next = 0;
  for (unsigned bit = 0; bit < std::size(registers.values); ++bit) {
    if ((sample.user.mask >> bit & 1U) == 0 || next == sample.user.registers.size()) continue;
    registers.values[bit] = sample.user.registers[next++];
  }
  auto chain = unwinder.unwind(registers, sample.user.stack, kDepth);
  return chain.size() > 1 ? chain : sample.callers;
}

}  // namespace causalctl::commands
