#include "controller/perf/ring.h"

namespace causalctl::perf {

Ring::Ring(Mapping mapping)
    : mapping_(std::move(mapping)),
      page_(reinterpret_cast<perf_event_mmap_page*>(mapping_.data())),
      data_(mapping_.data() + page_->data_offset, page_->data_size) {}

std::uint64_t Ring::head() const { return __atomic_load_n(&page_->data_head, __ATOMIC_ACQUIRE); }

void Ring::release(std::uint64_t tail) {
  __atomic_store_n(&page_->data_tail, tail, __ATOMIC_RELEASE);
}

std::span<const std::byte> Ring::record_at(std::uint64_t tail, std::uint64_t available) {
  const std::size_t offset = tail % data_.size();
  perf_event_header header;
  if (available < sizeof(header) || available > data_.size()) return {};
  std::memcpy(&header, data_.data() + offset, sizeof(header));  // 8 bytes, aligned: never wraps
  if (header.size < sizeof(header) || header.size > available) return {};
  const std::size_t straight = std::min<std::size_t>(header.size, data_.size() - offset);
  if (straight == header.size) return data_.subspan(offset, header.size);
  wrapped_.resize(header.size);
  std::memcpy(wrapped_.data(), data_.data() + offset, straight);
  std::memcpy(wrapped_.data() + straight, data_.data(), header.size - straight);
  return wrapped_;
}

}  // namespace causalctl::perf
