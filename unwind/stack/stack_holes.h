// Mends holes in stacks: pages that were never touched, such as those of a large local array.
//
// The kernel copies a stack into a sample with page faults off, so the copy ends at the first page
// that is not there. Reading such a page from outside makes it be there: it gets the page of zeros
// that all processes share, which takes no memory. Nothing else changes: guard pages cannot be
// read, and a stack does not grow from outside. The sample whose copy was short stays short; the
// thread's next one is not.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::unwind {

// Returns the stack pointer of a blocked thread, from the text of /proc/PID/task/TID/syscall
// (proc(5)), or nullopt for one that runs.
std::optional<Address> parse_stack_pointer(std::string_view syscall);

class StackHoles {
 public:
  explicit StackHoles(Pid target) : target_(target) {}

  // Reads on where the copy, which begins at `sp`, ended at a page's border. It costs some
  // microseconds, but nothing where a stack is known to end. Returns whether there was a hole.
  bool mend(Address sp, std::span<const std::byte> stack);
  // Does the same for all stacks, from where each thread stands to the stack's end: once, at the
  // attach, so that the first samples are complete. It passes over threads that are running just
  // now, as nothing tells where they stand; mend() sees to them. Returns how many stacks it read.
  std::size_t mend_all();
  void mappings_changed() { tops_.clear(); }

 private:
  bool read_to_end(Address start, Address end);

  Pid target_;
  std::unordered_set<Address> tops_;  // where nothing can be read
  std::vector<std::byte> buffer_;
};

}  // namespace causalctl::unwind
