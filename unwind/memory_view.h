// The only way by which unwinding reads a target's memory: a stopped or running thread's, or the
// stack copied into a sample backed by the mapped files.
#pragma once

#include <cstddef>
#include <span>

#include "controller/base/types.h"

namespace causalctl::unwind {

class MemoryView {
 public:
  virtual ~MemoryView() = default;
  // Fills all of `bytes` from `address`; false where any of it cannot be read.
  virtual bool read(Address address, std::span<std::byte> bytes) = 0;
};

}  // namespace causalctl::unwind
