// The only ways in which unwinding reads a target's memory: that of the live process, and the stack
// copied into a sample. What returns bool fills all of `bytes`, or returns false.
#pragma once

#include <cstddef>
#include <span>

#include "controller/base/types.h"

namespace causalctl::unwind {

// Reads by process_vm_readv(2). Returns false also if the process is gone or may not be read.
bool read_target(Pid target, Address address, std::span<std::byte> bytes);
// Reads up to the first page that cannot be read, and returns the number of bytes.
std::size_t read_target_until_gap(Pid target, Address address, std::span<std::byte> bytes);

// The bytes from `base` upwards, which it borrows.
class StackView {
 public:
  StackView() = default;
  StackView(Address base, std::span<const std::byte> stack) : base_(base), stack_(stack) {}
  bool read(Address address, std::span<std::byte> bytes) const;

 private:
  Address base_ = 0;
  std::span<const std::byte> stack_;
};

}  // namespace causalctl::unwind
