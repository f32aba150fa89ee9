// The only way in which unwinding reads a target's memory: that of a stopped or running thread, or
// the stack copied into a sample with the mapped files behind it.
#pragma once

#include <cstddef>
#include <span>

#include "controller/base/types.h"

namespace causalctl::unwind {

class MemoryView {
 public:
  virtual ~MemoryView() = default;
  // Fills all of `bytes` from `address`. Returns false if any of it cannot be read.
  virtual bool read(Address address, std::span<std::byte> bytes) = 0;
};

}  // namespace causalctl::unwind
