#include "controller/perf/record.h"

#include <algorithm>
#include <bit>

#include "controller/base/byte_reader.h"
#include "controller/perf/attrs.h"
#include "controller/perf/kernel_time.h"

namespace causalctl::perf {
namespace {

Words take_words(ByteReader& in, std::uint64_t count) {
  constexpr std::uint64_t kMost = UINT16_MAX;  // a record has a 16-bit size
  return Words(in.take(count > kMost ? UINT64_MAX : count * sizeof(std::uint64_t)));
}

void read_thread(ByteReader& in, RecordId& common) {
  common.pid = in.number<std::int32_t>();
  common.tid = in.number<std::int32_t>();
}

// The trailer that sample_id_all adds to all records other than samples: TID, TIME, CPU,
// IDENTIFIER.
constexpr std::size_t kTrailerBytes = 4 * sizeof(std::uint64_t);

RecordId read_trailer(Bytes trailer) {
  ByteReader in(trailer);
  RecordId common;
  read_thread(in, common);
  common.time_ns = own_time(in.word());
  common.cpu = static_cast<std::uint32_t>(in.word());
  common.id = in.word();
  return common;
}

void read_user_state(ByteReader& in, const SampleLayout& layout, SampleRecord& sample) {
  if ((layout.sample_type & PERF_SAMPLE_REGS_USER) != 0 && in.word() != PERF_SAMPLE_REGS_ABI_NONE) {
    sample.registers =
        take_words(in, static_cast<std::uint64_t>(std::popcount(layout.user_registers)));
  }
  if ((layout.sample_type & PERF_SAMPLE_STACK_USER) == 0) return;
  sample.stack_asked = in.word();
  if (sample.stack_asked == 0) return;
  const auto copied = in.take(sample.stack_asked);
  const auto valid = in.word();
  sample.stack = copied.first(std::min<std::uint64_t>(valid, copied.size()));
}

std::optional<Record> read_sample(Bytes body, bool in_kernel,
                                  std::span<const SampleLayout> layouts) {
  ByteReader in(body);
  SampleRecord sample;
  sample.in_kernel = in_kernel;
  sample.common.id = in.word();
  const auto layout = std::find_if(layouts.begin(), layouts.end(), [&](const SampleLayout& each) {
    return each.id == sample.common.id;
  });
  if (in.failed() || layout == layouts.end()) return std::nullopt;
  const auto has = [&](std::uint64_t field) { return (layout->sample_type & field) != 0; };
  constexpr std::uint64_t kKnown = kCommonSampleType | PERF_SAMPLE_IP | PERF_SAMPLE_READ |
                                   PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_REGS_USER |
                                   PERF_SAMPLE_STACK_USER;
  if (has(~kKnown)) return std::nullopt;
  if (has(PERF_SAMPLE_IP)) sample.ip = in.word();
  read_thread(in, sample.common);
  sample.common.time_ns = own_time(in.word());
  sample.common.cpu = static_cast<std::uint32_t>(in.word());
  if (has(PERF_SAMPLE_READ)) sample.count = in.word();
  if (has(PERF_SAMPLE_CALLCHAIN)) sample.call_chain = take_words(in, in.word());
  if (has(PERF_SAMPLE_RAW)) sample.raw = in.take(in.number<std::uint32_t>());
  // The raw field's size includes its padding to 8 bytes, so no alignment has to be restored here.
  read_user_state(in, *layout, sample);
  if (in.failed()) return std::nullopt;
  return sample;
}

std::optional<Record> read_other(const perf_event_header& header, Bytes body) {
  if (body.size() < kTrailerBytes) return std::nullopt;
  const RecordId common = read_trailer(body.last(kTrailerBytes));
  ByteReader in(body.first(body.size() - kTrailerBytes));
  const auto checked = [&](Record record) {
    return in.failed() ? std::nullopt : std::optional<Record>(record);
  };
  switch (header.type) {
    case PERF_RECORD_SWITCH:
      return SwitchRecord{common, (header.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0,
                          (header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0};
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT: {
      ForkRecord task;
      task.common = common;
      task.pid = in.number<std::int32_t>();
      task.parent_pid = in.number<std::int32_t>();
      task.tid = in.number<std::int32_t>();
      task.parent_tid = in.number<std::int32_t>();
      if (header.type == PERF_RECORD_FORK) return checked(task);
      return checked(ExitRecord{common, task.pid, task.tid});
    }
    case PERF_RECORD_MMAP2: {
      MmapRecord map;
      map.common = common;
      in.word();  // pid, tid
      map.start = in.word();
      map.length = in.word();
      map.file_offset = in.word();
      const std::uint64_t numbers = in.word();  // of the device: major, then minor
      map.device = numbers << 32U | numbers >> 32U;
      map.inode = in.word();
      map.generation = in.word();
      in.word();  // protection, flags
      map.path = in.text();
      return checked(map);
    }
    case PERF_RECORD_COMM: {
      in.word();  // pid, tid
      CommRecord comm;
      comm.common = common;
      comm.exec = (header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
      comm.name = in.text();
      return checked(comm);
    }
    case PERF_RECORD_LOST:
      in.word();  // id
      return checked(LostRecord{common, in.word()});
    case PERF_RECORD_LOST_SAMPLES:
      return checked(LostRecord{common, in.word()});
    case PERF_RECORD_THROTTLE:
    case PERF_RECORD_UNTHROTTLE:
      return ThrottleRecord{common, header.type == PERF_RECORD_THROTTLE};
    default:
      return OtherRecord{header.type};
  }
}

}  // namespace

std::optional<Record> decode(Bytes record, std::span<const SampleLayout> layouts) {
  perf_event_header header;
  if (record.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, record.data(), sizeof(header));
  if (header.size < sizeof(header) || header.size > record.size()) return std::nullopt;
  const auto body = record.subspan(sizeof(header), header.size - sizeof(header));
  if (header.type != PERF_RECORD_SAMPLE) return read_other(header, body);
  const auto mode = header.misc & PERF_RECORD_MISC_CPUMODE_MASK;
  return read_sample(body, mode == PERF_RECORD_MISC_KERNEL, layouts);
}

}  // namespace causalctl::perf
