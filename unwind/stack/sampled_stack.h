// The stack of a sample: its copy, and what lies beyond the copy, which is read from the target.
//
// The target runs on after the sample. So before the first word from outside is taken, the last
// return address that was found in the copy must still be where it was: the call is still under way
// then, most likely, and so are those above it. If it has changed, nothing is read from outside;
// and after the last word it must still not have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "controller/base/types.h"
#include "unwind/modules/target_memory.h"

namespace causalctl::unwind {

struct StackCopy {
  Address sp = 0;
  std::span<const std::byte> bytes;  // from there upwards
};

class SampledStack {
 public:
  explicit SampledStack(Pid target) : target_(target) {}

  // `still`: the thread does not run, so what is read from the target is as old as the copy.
  // `interrupted` is a copy of another stack, which a signal's handler has interrupted. The copies
  // are borrowed.
  void start(Address sp, std::span<const std::byte> copy, bool still = false,
             const StackCopy& interrupted = {});

  Address sp() const { return sp_; }
  // Returns the word there, or nullopt if it cannot be had.
  std::optional<Address> word(Address address) {
    const Address offset = address - sp_;
    if (offset >= copy_.size() || copy_.size() - offset < sizeof(Address)) return other(address);
    Address value = 0;
    std::memcpy(&value, copy_.data() + offset, sizeof value);
    return value;
  }
  // Fills all of the bytes, or returns false.
  bool read(Address address, std::span<std::byte> bytes);
  // Remembers that this word of the stack was taken for a return address.
  void has_return_address(Address at, Address value) {
    if (has(at)) last_ = Slot{at, value};
  }

  // Whether it is in a copy.
  bool has(Address address) const {
    return address - sp_ < copy_.size() || is_interrupted(address);
  }
  // The chain goes on at `sp`, where a signal has interrupted the thread. If that is on another
  // stack, the calls that were found until now tell nothing of whether those there are still under
  // way; if there is no copy of it, nothing more is read from outside.
  void cross(Address sp) {
    if (is_interrupted(sp)) {
      if (read_live_) crossed_from_ = last_;
      last_.reset();
      changed_.reset();
      crossed_ = true;
    } else if (!has(sp)) {
      left_ = !still_;
    }
  }
  bool crossed() const { return crossed_; }  // to the copy of what was interrupted
  // Whether the chain is still on the stack of the sample, of which a longer copy would have more.
  bool is_on_own_stack() const { return !left_ && !crossed_; }
  // Returns whether what was read from outside can be believed: the last return address of the copy
  // is still in its place.
  bool is_still_unchanged();

  bool read_live() const { return read_live_; }  // since start()
  bool failed_live() const { return failed_; }   // something was not in the copy, or has changed

 private:
  struct Slot {
    Address at = 0;
    Address value = 0;
  };
  struct Block {
    Address start = 0;
    std::vector<std::byte> bytes;
  };

  bool is_interrupted(Address address) const {
    return address - interrupted_.sp < interrupted_.bytes.size();
  }
  std::optional<Address> other(Address address);
  bool has_changed();
  bool is_there(const Slot& slot) const;  // still
  std::span<const std::byte> block_at(Address address);

  Pid target_;
  Address sp_ = 0;
  std::span<const std::byte> copy_;
  StackCopy interrupted_;
  bool crossed_ = false;              // the chain has come to what was interrupted
  std::optional<Slot> crossed_from_;  // the last return address of the handler's stack, if needed
  std::optional<Slot> last_;
  std::optional<bool> changed_;
  bool still_ = false;
  bool left_ = false;
  bool read_live_ = false;
  bool failed_ = false;
  std::vector<Block> blocks_;  // those beyond used_ are kept for their memory
  std::size_t used_ = 0;
};

}  // namespace causalctl::unwind
