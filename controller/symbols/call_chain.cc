#include "controller/symbols/call_chain.h"

#include <iterator>

namespace causalctl::symbols {
namespace {

constexpr std::size_t kDepth = 64;

}  // namespace

unwind::Registers registers_of(const perf::UserStack& user) {
  unwind::Registers registers;
  std::size_t next = 0;
  for (unsigned bit = 0; bit < std::size(registers.values); ++bit) {
    if (((user.mask >> bit) & 1U) != 0 && next < user.registers.size()) {
      registers.values[bit] = user.registers[next++];
    }
  }
  return registers;
}

std::vector<Address> unwound(const perf::UserStack& user, unwind::Unwinder& unwinder,
                             std::size_t depth, const std::vector<Address>& kernel_chain) {
  return unwinder.unwind(registers_of(user), user.stack, depth, kernel_chain,
                         {user.interrupted_pointer, user.interrupted});
}

const unwind::Chain& unwound_chain(const perf::SampleEvent& sample, unwind::Unwinder& unwinder,
                                   std::size_t depth) {
  const perf::UserStack& user = sample.user;
  return unwinder.unwind_chain(registers_of(user), user.stack, depth, sample.callers,
                               {user.interrupted_pointer, user.interrupted});
}

std::vector<Address> chain_of(const perf::SampleEvent& sample, unwind::Unwinder& unwinder) {
  if (sample.user.registers.empty()) return sample.callers;
  auto chain = unwound(sample.user, unwinder, kDepth, sample.callers);
  return chain.size() > 1 ? chain : sample.callers;
}

}  // namespace causalctl::symbols
