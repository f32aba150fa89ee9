// Mends holes in stacks: pages that were never touched, such as those of a large local array.
//
// The kernel copies a stack into a sample with page faults off, so the copy ends at the first page
// that is not there. Reading such a page from outside makes it be there: it gets the page of zeros
// that all processes share, which takes no memory. Nothing else changes: guard pages cannot be
// read, and a stack does not grow from outside. The sample whose copy was short stays short; the
// thread's next one is not.
#pragma once

#include <cstddef>
#include <span>
#include <unordered_set>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::unwind {

class StackHoles {
 public:
  explicit StackHoles(Pid target) : target_(target) {}

  // Reads on where the copy, which begins at `sp`, ended at a page's border. It costs some
  // microseconds, but nothing where a stack is known to end. Returns whether there was a hole.
  bool mend(Address sp, std::span<const std::byte> stack);
  void mappings_changed() { tops_.clear(); }

 private:
  Pid target_;
  std::unordered_set<Address> tops_;  // where nothing can be read
  std::vector<std::byte> buffer_;
};

}  // namespace causalctl::unwind
