#include <catch2/catch.hpp>
#include <random>

#include "controller/perf/attrs.h"
#include "controller/perf/translate.h"
#include "tests/unit/perf/bytes.h"

namespace causalctl::perf {

using test::RecordBytes;

namespace {

constexpr std::uint64_t kId = 42;

SampleLayout sampling_layout(unsigned stack_bytes = 0) {
  const auto attr = sampling_attr({.call_chain_depth = 8, .stack_bytes = stack_bytes});
  return {kId, attr.sample_type, attr.sample_regs_user};
}

// The fields up to CPU, which is included: 3 words of TID, TIME, CPU follow the instruction
// pointer.
RecordBytes sample(std::uint16_t misc = PERF_RECORD_MISC_USER) {
  return RecordBytes(PERF_RECORD_SAMPLE, misc)
      .u64(kId)
      .u64(0x401000)
      .u32(100)
      .u32(101)
      .u64(5000)
      .u32(1)
      .u32(0);
}

constexpr auto kUserMark = static_cast<std::uint64_t>(PERF_CONTEXT_USER);
constexpr auto kKernelMark = static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL);

std::optional<Record> decode_with(const std::vector<std::byte>& bytes, SampleLayout layout) {
  return decode(bytes, {&layout, 1});
}

// The bytes are copied to the heap at exactly this size, so that a sanitizer sees any read beyond
// them.
std::vector<std::byte> first_bytes(const std::vector<std::byte>& bytes, std::size_t size) {
  std::vector<std::byte> some(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
  some.shrink_to_fit();
  return some;
}

}  // namespace

TEST_CASE("A sample is decoded by the layout of its event", "[perf]") {
  const auto bytes = sample()
                         .u64(123)
                         .u64(3)
                         .u64(kUserMark)
                         .u64(0x401000)
                         .u64(0x402000)
                         .u64(PERF_SAMPLE_REGS_ABI_64)
                         .u64(0x7ffc00)
                         .done();
  const auto record = decode_with(bytes, sampling_layout());
  REQUIRE(record);
  const auto& got = std::get<SampleRecord>(*record);
  REQUIRE(got.common.tid == 101);
  REQUIRE(got.common.time_ns == 5000);
  REQUIRE(got.common.cpu == 1);
  REQUIRE(got.count == 123);
  REQUIRE_FALSE(got.in_kernel);
  const auto event = to_sample_event(got, {101, 9}, 777, 0);
  REQUIRE(event.callers == std::vector<Address>{0x401000, 0x402000});
  REQUIRE(event.thread == ThreadId{101, 9});
  REQUIRE(event.period_ns == 777);
  REQUIRE(event.user.registers.empty());
  REQUIRE(event.stack_pointer == 0x7ffc00);

  auto other = sampling_layout();
  other.id = kId + 1;
  REQUIRE_FALSE(decode_with(bytes, other));  // a sample of no known event
}

TEST_CASE("A sample in the kernel begins with the user code that called", "[perf]") {
  const auto with_chain = [](std::initializer_list<std::uint64_t> chain) {
    auto bytes = sample(PERF_RECORD_MISC_KERNEL).u64(1).u64(chain.size());
    for (const auto entry : chain) bytes.u64(entry);
    const auto raw = bytes.u64(PERF_SAMPLE_REGS_ABI_NONE).done();
    const auto record = decode_with(raw, sampling_layout());
    REQUIRE(record);
    REQUIRE(std::get<SampleRecord>(*record).in_kernel);
    return to_sample_event(std::get<SampleRecord>(*record), {101, 9}, 777, 0);
  };
  const auto both =
      with_chain({kKernelMark, 0xffffffff81000000, 0xffffffff81000100, kUserMark, 0x401000});
  REQUIRE(both.callers == std::vector<Address>{0x401000});
  REQUIRE(both.kernel == std::vector<Address>{0xffffffff81000000, 0xffffffff81000100});
  const auto only_user = with_chain({kUserMark, 0x401000, 0x402000});
  REQUIRE(only_user.callers.size() == 2);
  REQUIRE(only_user.kernel.empty());
  const auto only_kernel = with_chain({kKernelMark, 0xffffffff81000000});
  REQUIRE(only_kernel.callers.empty());
  REQUIRE(only_kernel.kernel.size() == 1);
  REQUIRE(with_chain({}).callers.empty());
}

TEST_CASE("A user sample without a chain still has its instruction", "[perf]") {
  const auto bytes = sample().u64(1).u64(0).u64(PERF_SAMPLE_REGS_ABI_NONE).done();
  const auto record = decode_with(bytes, sampling_layout());
  REQUIRE(user_callers(std::get<SampleRecord>(*record)) == std::vector<Address>{0x401000});
}

TEST_CASE("Registers and stack are copied, and a cut stack is told", "[perf]") {
  const auto with_stack = [](std::uint64_t valid) {
    auto bytes = sample().u64(1).u64(0).u64(PERF_SAMPLE_REGS_ABI_64);
    for (std::uint64_t i = 0; i < 20; ++i) bytes.u64(1000 + i);
    bytes.u64(16).u64(0x1111).u64(0x2222).u64(valid);
    const auto raw = bytes.done();
    const auto record = decode_with(raw, sampling_layout(16));
    REQUIRE(record);
    return to_sample_event(std::get<SampleRecord>(*record), {}, 1, kUserRegisters).user;
  };
  REQUIRE(with_stack(8).registers.size() == 20);
  REQUIRE(with_stack(8).registers[8] == 1008);
  REQUIRE(with_stack(8).stack.size() == 8);
  REQUIRE_FALSE(with_stack(8).truncated);
  REQUIRE(with_stack(16).truncated);
  REQUIRE(with_stack(0).truncated);
  REQUIRE(with_stack(1'000'000).stack.size() == 16);  // the size is a lie
}

TEST_CASE("Switches tell in, blocked and preempted apart", "[perf]") {
  const auto decoded = [](std::uint16_t misc) {
    const auto bytes = RecordBytes(PERF_RECORD_SWITCH, misc).trailer().done();
    return std::get<SwitchRecord>(*decode(bytes, {}));
  };
  REQUIRE_FALSE(decoded(0).out);
  REQUIRE(decoded(PERF_RECORD_MISC_SWITCH_OUT).out);
  REQUIRE_FALSE(decoded(PERF_RECORD_MISC_SWITCH_OUT).preempted);
  REQUIRE(decoded(PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT).preempted);
  REQUIRE(decoded(0).common.time_ns == 5000);
  REQUIRE(decoded(0).common.id == 77);
}

TEST_CASE("Task, mapping, name and loss records", "[perf]") {
  auto bytes = RecordBytes(PERF_RECORD_FORK, 0).u32(1).u32(2).u32(3).u32(4).u64(9).trailer().done();
  const auto fork = std::get<ForkRecord>(*decode(bytes, {}));
  REQUIRE(fork.pid == 1);
  REQUIRE(fork.parent_pid == 2);
  REQUIRE(fork.tid == 3);
  REQUIRE(fork.parent_tid == 4);

  bytes = RecordBytes(PERF_RECORD_EXIT, 0).u32(1).u32(2).u32(3).u32(4).u64(9).trailer().done();
  REQUIRE(std::get<ExitRecord>(*decode(bytes, {})).tid == 3);

  bytes = RecordBytes(PERF_RECORD_MMAP2, 0)
              .u32(100)
              .u32(101)
              .u64(0x7f0000)
              .u64(0x1000)
              .u64(0x2000)
              .u32(8)
              .u32(1)
              .u64(77)
              .u64(0)
              .u64(0)
              .text("/usr/lib/libm.so")
              .trailer()
              .done();
  const auto map = std::get<MmapRecord>(*decode(bytes, {}));
  REQUIRE(map.start == 0x7f0000);
  REQUIRE(map.length == 0x1000);
  REQUIRE(map.file_offset == 0x2000);
  REQUIRE(map.device == 0x8'0000'0001);
  REQUIRE(map.inode == 77);
  REQUIRE(map.path == "/usr/lib/libm.so");

  bytes = RecordBytes(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC)
              .u32(100)
              .u32(101)
              .text("sh")
              .trailer()
              .done();
  REQUIRE(std::get<CommRecord>(*decode(bytes, {})).exec);
  REQUIRE(std::get<CommRecord>(*decode(bytes, {})).name == "sh");

  bytes = RecordBytes(PERF_RECORD_LOST, 0).u64(42).u64(17).trailer().done();
  REQUIRE(std::get<LostRecord>(*decode(bytes, {})).count == 17);
  bytes = RecordBytes(PERF_RECORD_LOST_SAMPLES, 0).u64(18).trailer().done();
  REQUIRE(std::get<LostRecord>(*decode(bytes, {})).count == 18);
  bytes = RecordBytes(PERF_RECORD_THROTTLE, 0).u64(0).u64(0).u64(0).trailer().done();
  REQUIRE(std::get<ThrottleRecord>(*decode(bytes, {})).on);
  bytes = RecordBytes(PERF_RECORD_UNTHROTTLE, 0).u64(0).u64(0).u64(0).trailer().done();
  REQUIRE_FALSE(std::get<ThrottleRecord>(*decode(bytes, {})).on);
  bytes = RecordBytes(PERF_RECORD_NAMESPACES, 0).trailer().done();
  REQUIRE(std::holds_alternative<OtherRecord>(*decode(bytes, {})));
}

TEST_CASE("A record cut short is malformed, never read beyond", "[perf]") {
  auto full_sample = sample().u64(1).u64(2).u64(kUserMark).u64(0x401000).u64(2);
  for (int i = 0; i < 20; ++i) full_sample.u64(1);
  full_sample.u64(16).u64(1).u64(2).u64(16);
  const std::vector<std::vector<std::byte>> whole = {
      full_sample.done(),
      RecordBytes(PERF_RECORD_FORK, 0).u64(1).u64(2).u64(3).trailer().done(),
      RecordBytes(PERF_RECORD_LOST, 0).u64(42).u64(17).trailer().done(),
  };
  for (const auto& bytes : whole) {
    REQUIRE(decode_with(bytes, sampling_layout(16)));
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      auto cut = first_bytes(bytes, size);
      REQUIRE_FALSE(decode_with(cut, sampling_layout(16)));  // the header claims more
      if (size < sizeof(perf_event_header)) continue;
      const auto honest = static_cast<std::uint16_t>(size);
      std::memcpy(cut.data() + offsetof(perf_event_header, size), &honest, sizeof(honest));
      const auto record = decode_with(cut, sampling_layout(16));
      if (bytes == whole[0]) REQUIRE_FALSE(record);
    }
  }
  // The path has no terminator.
  auto path = RecordBytes(PERF_RECORD_MMAP2, 0).u64(0).u64(0).u64(0).u64(0).u64(0).u64(0).u64(0);
  path.u64(0).u64(0x4141414141414141).trailer();
  REQUIRE_FALSE(decode(path.done(), {}));
}

TEST_CASE("Absurd sizes inside a sample are malformed", "[perf]") {
  for (const std::uint64_t count : {UINT64_MAX, UINT64_MAX / 8, std::uint64_t{1} << 61}) {
    REQUIRE_FALSE(decode_with(sample().u64(1).u64(count).u64(0).done(), sampling_layout()));
  }
  SampleLayout raw{kId, kCommonSampleType | PERF_SAMPLE_RAW, 0};
  const auto bytes = RecordBytes(PERF_RECORD_SAMPLE, 0)
                         .u64(kId)
                         .u64(0)
                         .u64(0)
                         .u64(0)
                         .u32(UINT32_MAX)
                         .u32(0)
                         .done();
  REQUIRE_FALSE(decode_with(bytes, raw));
}

TEST_CASE("Random bytes never do harm", "[perf]") {
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::byte> bytes(random() % 200);
    for (auto& byte : bytes) byte = static_cast<std::byte>(random() % 4 == 0 ? random() : 0);
    if (bytes.size() >= 16) {
      const perf_event_header header{static_cast<std::uint32_t>(random() % 20),
                                     static_cast<std::uint16_t>(random()),
                                     static_cast<std::uint16_t>(bytes.size())};
      std::memcpy(bytes.data(), &header, sizeof(header));
      const std::uint64_t id = random() % 2 == 0 ? kId : 0;
      std::memcpy(bytes.data() + 8, &id, sizeof(id));
    }
    const auto record = decode_with(bytes, sampling_layout(16));
    if (record && std::holds_alternative<SampleRecord>(*record)) {
      REQUIRE(user_callers(std::get<SampleRecord>(*record)).size() <= bytes.size() / 8);
    }
  }
}

}  // namespace causalctl::perf
