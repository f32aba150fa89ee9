// Follows a chain with libunwind, from registers and a copied stack. It knows every rule that an
// unwind table can have, and it finds all registers that a function saves, but it takes
// microseconds for a frame: the signal mask is changed at each of its look-ups.
//
// The unwind tables (.eh_frame) come from the mapped files. Functions are found by binary search in
// .eh_frame_hdr through libunwind's dwarf_search_unwind_table, an exported function that its
// headers do not declare (perf and other users of libunwind do the same).
//
// Compilers describe no restoring of registers, so that after `pop %rbp` the rule for RBP names the
// slot that was popped. It is below the stack pointer, where the copy has nothing and the target
// writes meanwhile; the register itself still has the value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "controller/base/types.h"
#include "unwind/stack/registers.h"
#include "unwind/stack/target_images.h"

namespace causalctl::unwind {

class LibunwindSteps {
 public:
  // Fills all of the bytes from the address on, or returns false.
  using Read = std::function<bool(Address address, std::span<std::byte> bytes)>;

  // Borrows the images.
  LibunwindSteps(TargetImages& images, Read read);
  ~LibunwindSteps();
  LibunwindSteps(const LibunwindSteps&) = delete;
  LibunwindSteps& operator=(const LibunwindSteps&) = delete;

  enum class Outcome : std::uint8_t { caller, outermost, failed };
  struct Step {
    Outcome outcome = Outcome::failed;
    Address ip = 0;
    Address sp = 0;
    Address bp = 0;
    bool signal = false;  // the caller was interrupted by a signal: ip is its instruction
  };

  // Returns at most `count` steps up from `start`: fewer if one leads to no caller, which is the
  // last. Throws Error if libunwind gives no address space.
  std::vector<Step> follow(const Registers& start, std::size_t count);

  void mappings_changed();

 private:
  struct State;

  void make_space();

  std::unique_ptr<State> state_;
};

}  // namespace causalctl::unwind
