// Reads one perf ring buffer.
//
// The kernel writes records at data_head and never overwrites what lies beyond data_tail. We read
// data_head with acquire order, so that the bytes before it are visible, and write data_tail with
// release order, so that our reads are done before the kernel reuses the space (perf_event_open(2),
// "Data ring"). Records begin at multiples of 8. A record that wraps is copied into one piece.
#pragma once

#include <linux/perf_event.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "controller/base/fd.h"

namespace causalctl::perf {

class Ring {
 public:
  Ring() = default;
  explicit Ring(Mapping mapping);

  // Calls use(std::span<const std::byte>) for each record, oldest first; the bytes are valid during
  // the call. Gives the space back at the end, even if `use` throws. Returns false if the ring's
  // content made no sense and was dropped.
  template <typename Use>
  bool consume(Use&& use);

  explicit operator bool() const { return mapping_.data() != nullptr; }
  std::size_t bytes() const { return data_.size(); }  // for which it has room

 private:
  std::uint64_t head() const;
  void release(std::uint64_t tail);
  // Returns the record at `tail`, or nothing if its header contradicts the `available` bytes.
  std::span<const std::byte> record_at(std::uint64_t tail, std::uint64_t available);

  Mapping mapping_;
  perf_event_mmap_page* page_ = nullptr;
  std::span<const std::byte> data_;
  std::vector<std::byte> wrapped_;
};

template <typename Use>
bool Ring::consume(Use&& use) {
  if (page_ == nullptr) return true;
  const std::uint64_t end = head();
  struct Release {
    Ring& ring;
    std::uint64_t tail;
    ~Release() { ring.release(tail); }
  } at{*this, page_->data_tail};
  while (at.tail != end) {
    const auto record = record_at(at.tail, end - at.tail);
    if (record.empty()) {
      at.tail = end;
      return false;
    }
    at.tail += record.size();
    use(record);
  }
  return true;
}

}  // namespace causalctl::perf
