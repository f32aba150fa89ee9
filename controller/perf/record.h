// Decodes the bytes of a perf ring into typed records. Pure.
//
// The layout of a record depends on the attr of the event that wrote it. Its id, at a fixed place
// because of PERF_SAMPLE_IDENTIFIER, names that event. Every event here has kCommonSampleType and
// sample_id_all (attrs.h). Records are views: they allocate nothing and live as long as the bytes.
// Nothing beyond the given bytes is read, whatever they claim. Sources: perf_event_open(2), "MMAP
// layout"; the order of a sample's fields is that of perf_output_sample() in the kernel.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "controller/base/types.h"

namespace causalctl::perf {

using Bytes = std::span<const std::byte>;

class Words {  // 64-bit words, which need not be aligned
 public:
  Words() = default;
  explicit Words(Bytes bytes) : bytes_(bytes) {}
  std::size_t size() const { return bytes_.size() / sizeof(std::uint64_t); }
  std::uint64_t operator[](std::size_t index) const {
    std::uint64_t word = 0;
    std::memcpy(&word, &bytes_[index * sizeof(word)], sizeof(word));
    return word;
  }

 private:
  Bytes bytes_;
};

// What determines the layout of one event's samples.
struct SampleLayout {
  std::uint64_t id = 0;
  std::uint64_t sample_type = 0;
  std::uint64_t user_registers = 0;
};

struct RecordId {  // is in every record
  Pid pid = 0;
  Tid tid = 0;
  Nanoseconds time_ns = 0;
  std::uint32_t cpu = 0;
  std::uint64_t id = 0;
};

struct SampleRecord {
  RecordId common;
  bool in_kernel = false;
  Address ip = 0;
  std::uint64_t count = 0;  // value of the event (PERF_SAMPLE_READ)
  Words call_chain;         // includes the kernel's PERF_CONTEXT_ markers
  Bytes raw;
  Words registers;
  Bytes stack;  // the bytes that were copied
  // How many were asked for, of which only stack.size() could be had.
  std::uint64_t stack_asked = 0;
};
struct SwitchRecord {
  RecordId common;
  bool out = false;
  bool preempted = false;
};
struct ForkRecord {  // its common fields are the creator's
  RecordId common;
  Pid pid = 0, parent_pid = 0;
  Tid tid = 0, parent_tid = 0;
};
struct ExitRecord {
  RecordId common;
  Pid pid = 0;
  Tid tid = 0;
};
struct MmapRecord {
  RecordId common;
  Address start = 0;
  std::uint64_t length = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t device = 0;  // its major number in the upper 32 bits
  std::uint64_t inode = 0;
  std::uint64_t generation = 0;  // of the inode, whose number may be given again
  std::string_view path;
};
struct CommRecord {
  RecordId common;
  bool exec = false;
  std::string_view name;
};
struct LostRecord {  // PERF_RECORD_LOST and LOST_SAMPLES
  RecordId common;
  std::uint64_t count = 0;
};
struct ThrottleRecord {
  RecordId common;
  bool on = false;
};
struct OtherRecord {
  std::uint32_t type = 0;
};

using Record = std::variant<SampleRecord, SwitchRecord, ForkRecord, ExitRecord, MmapRecord,
                            CommRecord, LostRecord, ThrottleRecord, OtherRecord>;

// Returns nullopt if the record is malformed, or a sample of an event that is not in `layouts`.
std::optional<Record> decode(Bytes record, std::span<const SampleLayout> layouts);

}  // namespace causalctl::perf
