// Two views of memory: of a live process, and of the stack copied into a sample.
#pragma once

#include <cstddef>
#include <span>

#include "controller/base/types.h"
#include "unwind/memory_view.h"

namespace causalctl::unwind {

// Reads by process_vm_readv(2). Returns false also if the process is gone or may not be read.
class TargetMemory : public MemoryView {
 public:
  explicit TargetMemory(Pid target) : target_(target) {}
  bool read(Address address, std::span<std::byte> bytes) override;

 private:
  Pid target_;
};

// The bytes from `base` upwards, which it borrows.
class StackView : public MemoryView {
 public:
  StackView() = default;
  StackView(Address base, std::span<const std::byte> stack) : base_(base), stack_(stack) {}
  bool read(Address address, std::span<std::byte> bytes) override;

 private:
  Address base_ = 0;
  std::span<const std::byte> stack_;
};

}  // namespace causalctl::unwind
