#include "controller/continuous/record/exact_counts.h"

#include "controller/base/error.h"

namespace causalctl::continuous {
namespace {

void add_or_throw(std::uint64_t& sum, std::uint64_t count) {
  if (add_within(sum, count)) return;
  throw Error("counts of executions add up to more than 63 bits", "import fewer files at a time");
}

}  // namespace

bool add_within(std::uint64_t& sum, std::uint64_t count) {
  if (count > kMostExecutions || sum > kMostExecutions - count) return false;
  sum += count;
  return true;
}

void add(ExactCounts& to, const ExactCounts& from) {
  for (const auto& [address, count] : from.instructions) {
    add_or_throw(to.instructions[address], count);
  }
  for (const auto& [jump, count] : from.jumps) add_or_throw(to.jumps[jump], count);
}

std::uint64_t sum_of(const Executions& instructions) {
  std::uint64_t sum = 0;
  for (const auto& [address, count] : instructions) add_or_throw(sum, count);
  return sum;
}

}  // namespace causalctl::continuous
