// Builds perf records byte by byte.
#pragma once

#include <linux/perf_event.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "controller/perf/record.h"

namespace causalctl::perf::test {

class RecordBytes {
 public:
  RecordBytes(std::uint32_t type, std::uint16_t misc) { add(perf_event_header{type, misc, 0}); }

  template <typename T>
  RecordBytes& add(T value) {
    const auto at = bytes_.size();
    bytes_.resize(at + sizeof(value));
    std::memcpy(&bytes_[at], &value, sizeof(value));
    return *this;
  }
  RecordBytes& u32(std::uint32_t value) { return add(value); }
  RecordBytes& u64(std::uint64_t value) { return add(value); }
  RecordBytes& text(std::string_view text) {  // with its terminator, padded to 8 bytes
    for (const char c : text) add(c);
    do add('\0');
    while (bytes_.size() % 8 != 0);
    return *this;
  }
  // TID, TIME, CPU, IDENTIFIER
  RecordBytes& trailer() { return u32(100).u32(101).u64(5000).u32(1).u32(0).u64(77); }

  std::vector<std::byte> done() const {
    auto bytes = bytes_;
    const auto size = static_cast<std::uint16_t>(bytes.size());
    std::memcpy(bytes.data() + offsetof(perf_event_header, size), &size, sizeof(size));
    return bytes;
  }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace causalctl::perf::test
