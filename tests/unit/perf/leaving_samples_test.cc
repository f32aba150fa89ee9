#include "controller/perf/leaving_samples.h"

#include <array>
#include <catch2/catch.hpp>
#include <vector>

#include "controller/perf/kernel_time.h"

namespace causalctl::perf {
namespace {

constexpr unsigned kMostBytes = 6000;
constexpr std::size_t kCores = 2, kPieces = 16;

// The memory that the program for the kernel writes.
struct Shared {
  std::vector<StackRing> rings = std::vector<StackRing>(kCores);
  std::vector<StackPiece> pieces = std::vector<StackPiece>(kCores * kPieces);
  std::vector<LeavingSlot> slots = std::vector<LeavingSlot>(LEAVING_SLOTS + WAKING_SLOTS);

  // A switch of a thread whose stack pointer is its number, with so much of its stack in each
  // piece.
  void sample(std::size_t core, std::uint32_t tid, std::vector<std::uint16_t> bytes) {
    StackRing& ring = rings[core];
    Address from = tid;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      StackPiece& piece = pieces[core * kPieces + (ring.written + i) % kPieces];
      piece = {};
      piece.tag = i == 0 ? static_cast<std::uint16_t>(leaving_slot(tid, 0, tid, 0)) : 0;
      piece.time_ns = 1000 + tid;
      piece.tid = tid;
      piece.registers[7] = tid;
      piece.frames = bytes.size();  // as many as it has pieces
      piece.chain[0] = 1000 + tid;
      piece.from = from;
      piece.bytes = bytes[i];
      from += bytes[i];
      piece.stack[0] = static_cast<std::uint8_t>(tid + i);
    }
    ring.written += bytes.size();
  }
  // Makes the pieces of the latest sample from the one with this number on those of another stack.
  void is_interrupted(std::size_t core, std::size_t count, std::size_t number, Address from) {
    for (std::size_t i = number; i < count; ++i) {
      StackPiece& piece = pieces[core * kPieces + (rings[core].written - count + i) % kPieces];
      piece.from = from;
      from += piece.bytes;
    }
  }
  StackCopies copies() { return {rings, pieces}; }
  LeavingSlot& slot_of(std::uint32_t tid) { return slots[leaving_slot(tid, 0, tid, 0)]; }
};

}  // namespace

TEST_CASE("Samples of threads that leave are put together from pieces", "[perf]") {
  Shared shared;
  LeavingSamples samples(shared.copies(), shared.slots);
  std::vector<SampleEvent> events;
  samples.read(kMostBytes, events);
  CHECK(events.empty());
  for (unsigned round = 0; round < 10; ++round) {  // more than a ring holds
    shared.sample(0, 5, {100, 4096, 4096});
    shared.sample(0, 6, {0});
    shared.sample(1, 7, {300});
    events.clear();
    samples.read(kMostBytes, events);
    REQUIRE(events.size() == 3);
    CHECK(events[0].thread == ThreadId{5, 0});
    CHECK(events[0].user.stack.size() == kMostBytes);
    CHECK(events[0].user.stack.at(100) == std::byte{6});
    CHECK(events[0].user.stack.at(4196) == std::byte{7});
    CHECK(events[0].user.truncated);
    CHECK(events[0].stack_pointer == 5);
    CHECK(events[0].tag == leaving_slot(5, 0, 5, 0));
    CHECK(events[0].tag != events[2].tag);
    CHECK(events[0].user.registers.at(7) == 5);
    CHECK(events[0].kernel == std::vector<Address>{1005, 0, 0});
    CHECK(events[2].kernel == std::vector<Address>{1007});
    CHECK(events[1].user.stack.empty());
    CHECK(events[1].user.truncated);
    CHECK(events[2].user.stack.size() == 300);
    CHECK_FALSE(events[2].user.truncated);
    CHECK(events[2].cpu == 1);
    CHECK(events[2].reason == SampleReason::leaving);
    CHECK(events[2].time_ns < events[0].time_ns + 5);
  }
}

TEST_CASE("What a signal has interrupted is a copy of its own", "[perf]") {
  Shared shared;
  LeavingSamples samples(shared.copies(), shared.slots);
  const std::size_t own = GENERATE(0, 1, 2);  // pieces of the handler's stack
  shared.sample(0, 5, {100, 4096, 200});
  shared.is_interrupted(0, 3, own, 70000);
  std::vector<SampleEvent> events;
  samples.read(kMostBytes, events);
  REQUIRE(events.size() == 1);
  const UserStack& user = events[0].user;
  CHECK(user.stack.size() == std::array<std::size_t, 3>{0, 100, 4196}[own]);
  CHECK(user.interrupted.size() == std::array<std::size_t, 3>{4396, 4296, 200}[own]);
  CHECK(user.interrupted_pointer == 70000);
  CHECK(user.interrupted[0] == std::byte(5 + own));
  CHECK(user.truncated == (own == 0));
}

TEST_CASE("A copy of a waker's stack tells whom it has woken", "[perf]") {
  Shared shared;
  LeavingSamples samples(shared.copies(), shared.slots);
  shared.sample(0, 5, {100});
  shared.pieces[0].tag += LEAVING_SLOTS;
  shared.pieces[0].number = 9;
  std::vector<SampleEvent> events;
  samples.read(kMostBytes, events);
  REQUIRE(events.size() == 1);
  CHECK(events[0].reason == SampleReason::waking);
  CHECK(events[0].woken == 9);
  CHECK(events[0].tag == 0);
  CHECK(events[0].number == 0);
  CHECK(events[0].time_ns == own_time(1005));
}

TEST_CASE("Fewer switches are sampled where there are many, and all where there are few",
          "[perf]") {
  Shared shared;
  LeavingSamples samples(shared.copies(), shared.slots);
  LeavingSlot& busy = shared.slot_of(5);
  LeavingSlot& rare = shared.slot_of(6);
  REQUIRE(&busy != &rare);
  CHECK(busy.every == 1);
  std::vector<SampleEvent> events;
  const auto pass = [&](std::uint32_t of_busy, std::uint32_t of_rare) {
    busy.left += of_busy;
    rare.left += of_rare;
    samples.read(kMostBytes, events);
    samples.adapt(8);
  };
  for (int i = 0; i < 20; ++i) pass(1000, 1);
  CHECK(busy.every == 125);
  CHECK(rare.every == 1);
  for (int i = 0; i < 20; ++i) pass(0, 0);
  CHECK(busy.every == 1);

  // There is room for 12 of these pieces, on the one core that has samples.
  shared.sample(0, 5, {4096, 4096});
  shared.sample(0, 6, {4096, 4096});
  pass(1000, 1000);
  CHECK(busy.every == 334);
}

}  // namespace causalctl::perf
