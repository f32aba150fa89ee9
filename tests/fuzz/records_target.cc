// The bytes are what the kernel writes into the data area of a ring. Ids 1 to 5 stand for events of
// the layouts that the session opens. Each record is copied out of the ring before it is decoded,
// so that a sanitizer sees a read beyond it.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "controller/base/error.h"
#include "controller/perf/attrs.h"
#include "controller/perf/record.h"
#include "controller/perf/ring.h"
#include "controller/perf/tracepoint.h"
#include "controller/perf/translate.h"
#include "tests/fuzz/targets.h"

namespace causalctl::fuzz {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kDataBytes = 16 * kPage;

std::vector<perf::SampleLayout> layouts() {
  const auto layout = [](std::uint64_t id, const perf_event_attr& attr) {
    return perf::SampleLayout{id, attr.sample_type, attr.sample_regs_user};
  };
  perf_event_attr visit{};
  visit.type = PERF_TYPE_BREAKPOINT;
  return {layout(1, perf::sampling_attr({})),
          layout(2, perf::sampling_attr({.call_chain_depth = 8, .stack_bytes = 1024})),
          layout(3, perf::waking_attr(1)), layout(4, perf::visit_attr(visit)),
          layout(5, perf::bookkeeping_attr())};
}

void read_record(std::span<const std::byte> in_ring,
                 std::span<const perf::SampleLayout> known_layouts) {
  const std::vector<std::byte> bytes(in_ring.begin(), in_ring.end());
  const auto record = perf::decode(bytes, known_layouts);
  if (!record) return;
  if (const auto* sample = std::get_if<perf::SampleRecord>(&*record)) {
    perf::to_sample_event(*sample, {1, 1}, kMillisecond, perf::kUserRegisters);
    const std::vector<std::byte> raw(sample->raw.begin(), sample->raw.end());
    perf::parse_waking(raw, {1, 2, 4, 24});
    INVARIANT(sample->stack.size() <= sample->stack_asked);
  } else if (const auto* map = std::get_if<perf::MmapRecord>(&*record)) {
    INVARIANT(map->path.size() < bytes.size());
  }
}

}  // namespace

// The first byte says where in the ring the first record begins, in words from its end.
void read_records(Bytes bytes) {
  static const auto known_layouts = layouts();
  if (bytes.empty()) return;
  void* memory = ::mmap(nullptr, kPage + kDataBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  INVARIANT(memory != MAP_FAILED);
  auto* page = static_cast<perf_event_mmap_page*>(memory);
  page->data_offset = kPage;
  page->data_size = kDataBytes;
  perf::Ring ring(Mapping(memory, kPage + kDataBytes));
  page->data_tail = kDataBytes - 8 * std::to_integer<std::size_t>(bytes[0]);
  const Bytes content = bytes.subspan(1, std::min(bytes.size() - 1, kDataBytes));
  auto* data = static_cast<std::byte*>(memory) + kPage;
  for (std::size_t i = 0; i < content.size(); ++i) {
    data[(page->data_tail + i) % kDataBytes] = content[i];
  }
  page->data_head = page->data_tail + content.size();
  (void)ring.consume(
      [&](std::span<const std::byte> record) { read_record(record, known_layouts); });
  INVARIANT(page->data_tail == page->data_head);
}

}  // namespace causalctl::fuzz
