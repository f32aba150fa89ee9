// Finds the call chain of a perf sample from the registers and the stack that were copied with it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "controller/base/procfs.h"
#include "controller/base/types.h"
#include "unwind/modules/image_files.h"
#include "unwind/stack/chain.h"
#include "unwind/stack/registers.h"
#include "unwind/stack/sampled_stack.h"

namespace causalctl::unwind {

class Unwinder {
 public:
  explicit Unwinder(Pid target);  // throws as TargetImages does
  // Shares files with the unwinders of other processes, and begins with these mappings, such as
  // those of the parent. There may be none. The process may be gone.
  Unwinder(Pid target, std::shared_ptr<ImageFiles> files, std::vector<procfs::Map> maps);
  ~Unwinder();
  Unwinder(const Unwinder&) = delete;
  Unwinder& operator=(const Unwinder&) = delete;

  void refresh();                               // call it when mappings have changed
  void refresh(std::vector<procfs::Map> maps);  // the same, with those that were read before
  // The same for one executable mapping, as a record tells of it (target_images.h).
  void mapped(const procfs::Map& line);
  // The process runs another program: nothing is mapped until there are records of it.
  void unmap_all();
  const std::vector<procfs::Map>& maps();  // the present ones, sorted by address
  // Mends the holes of all stacks, as StackHoles::mend_all() does; call it at the attach.
  std::size_t mend_stacks();

  // Returns at most `depth` frames, innermost first. The chain is valid until the next call.
  // `stack` has the bytes at and above the stack pointer; what they lack is read from the target.
  // Where the copy is short because of a hole in the stack, the hole is mended (stack_holes.h).
  // `kernel_chain` are the addresses that the kernel found by frame pointers, innermost first, if
  // it was asked to. They are right where a Go program has changed stacks, and only there are used.
  // `interrupted` is what a signal's handler has interrupted that runs on a stack of its own.
  const Chain& unwind_chain(const Registers& registers, std::span<const std::byte> stack,
                            std::size_t depth, std::span<const Address> kernel_chain = {},
                            const StackCopy& interrupted = {});
  // Does the same, and returns the addresses alone: the instruction pointer, then return addresses.
  std::vector<Address> unwind(const Registers& registers, std::span<const std::byte> stack,
                              std::size_t depth, std::span<const Address> kernel_chain = {},
                              const StackCopy& interrupted = {});
  // The thread whose chains are asked for from here on is stopped, or runs again: while it is
  // stopped, all memory is as the registers are, also that of other stacks.
  void set_stopped(bool stopped);
  bool last_complete() const;  // true if the last chain ended at the outermost frame

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace causalctl::unwind
