#include "controller/perf/interrupted_copies.h"

#include <catch2/catch.hpp>
#include <vector>

#include "controller/perf/stack_copies.h"

namespace causalctl::perf {
namespace {

constexpr Address kInstruction = 0x401000, kStack = 0x7000;

SampleEvent sample_at(Nanoseconds time_ns, Tid tid = 5) {
  SampleEvent sample;
  sample.thread.tid = tid;
  sample.time_ns = time_ns;
  sample.stack_pointer = kStack;
  sample.user.registers.assign(20, 0);
  sample.user.registers[kInstructionPlace] = kInstruction;
  return sample;
}

// `number` tells copies apart.
SampleEvent copy_at(Nanoseconds time_ns, unsigned number, Tid tid = 5) {
  SampleEvent copy = sample_at(time_ns, tid);
  copy.user.interrupted_pointer = 0x8000 + number;
  copy.user.interrupted.resize(16);
  return copy;
}

Address given(InterruptedCopies& copies, SampleEvent sample) {
  copies.give(sample);
  CHECK(sample.user.interrupted.empty() == (sample.user.interrupted_pointer == 0));
  return sample.user.interrupted_pointer;
}

}  // namespace

TEST_CASE("Each sample gets the copy that was made in its interrupt", "[perf]") {
  InterruptedCopies copies;
  CHECK(given(copies, sample_at(kMillisecond)) == 0);
  const Nanoseconds shift = GENERATE(-2, 3) * kMicrosecond;  // before or after the sample's time
  copies.add({copy_at(2 * kMillisecond + shift, 2), copy_at(kMillisecond + shift, 1),
              copy_at(3 * kMillisecond + shift, 3), copy_at(kMillisecond + shift, 9, 6)});
  CHECK(given(copies, sample_at(kMillisecond)) == 0x8001);
  // One that was not in a handler, and one whose copy found no room.
  CHECK(given(copies, sample_at(kMillisecond + kMillisecond / 2)) == 0);
  CHECK(given(copies, sample_at(3 * kMillisecond)) == 0x8003);
  CHECK(given(copies, sample_at(4 * kMillisecond)) == 0);
  CHECK(given(copies, sample_at(kMillisecond, 6)) == 0x8009);
  CHECK(copies.empty());
}

TEST_CASE("A copy of another place in code is not given", "[perf]") {
  InterruptedCopies copies;
  copies.add({copy_at(kMillisecond, 1)});
  SampleEvent elsewhere = sample_at(kMillisecond), deeper = elsewhere, complete = elsewhere;
  elsewhere.user.registers[kInstructionPlace] += 4;
  deeper.stack_pointer -= 8;
  complete.user.interrupted_pointer = 7;  // by the program that took it
  complete.user.interrupted.resize(1);
  CHECK(given(copies, elsewhere) == 0);
  CHECK(given(copies, deeper) == 0);
  CHECK(given(copies, complete) == 7);
  CHECK(given(copies, sample_at(kMillisecond)) == 0x8001);
}

TEST_CASE("Copies are forgotten whose samples do not come", "[perf]") {
  InterruptedCopies copies;
  for (unsigned i = 1; i <= 10; ++i) copies.add({copy_at(i * kMillisecond, i)});
  copies.forget(6 * kMillisecond);
  CHECK(given(copies, sample_at(5 * kMillisecond)) == 0);
  CHECK(given(copies, sample_at(6 * kMillisecond)) == 0x8006);
  copies.forget(kSecond);
  CHECK(copies.empty());
}

}  // namespace causalctl::perf
