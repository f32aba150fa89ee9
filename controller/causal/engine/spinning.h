// Finds out in the survey, from where samples fall, whether threads of the target wait by spinning.
//
// A spinning thread waits without a wake-up that anybody could see (docs/virtual-time.md). Loops
// that wait contain PAUSE, by the processor vendors' advice (Intel 64 Optimization Reference
// Manual, "Pause instruction"): its two bytes near a sample tell them. A loop without it is not
// found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>

#include "controller/base/types.h"

namespace causalctl::causal {

class Spinning {
 public:
  // Fills all of `bytes` from the target's memory. Returns false if it cannot be read.
  using Read = std::function<bool(Address, std::span<std::byte>)>;

  void sampled(Address address) {
    if (!surveyed_) ++counts_[address];
  }

  // Returns the share of the samples so far that fell within a few instructions of PAUSE; 0 for
  // fewer than 50 samples, or if memory cannot be read. Reads the memory around every sampled
  // address; afterwards forgets the addresses and counts no more.
  double share(const Read& read);

  // Returns whether the address is within a few instructions of PAUSE. Reads memory at the first
  // call for an address.
  bool near(Address address, const Read& read);

 private:
  bool surveyed_ = false;
  std::unordered_map<Address, std::uint64_t> counts_;
  std::unordered_map<Address, bool> near_;
};

}  // namespace causalctl::causal
