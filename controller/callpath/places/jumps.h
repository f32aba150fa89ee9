// Finds the direct jumps by which a piece of code is left. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "controller/base/types.h"
#include "disasm/decoder.h"

namespace causalctl::callpath {

struct OutwardJump {
  Address at = 0;
  Address target = 0;
  bool conditional = false;
  bool operator==(const OutwardJump&) const = default;
};

// Returns those that lead out of the code, which begins at `address`, in the order of addresses.
// Decoding begins anew behind bytes that are no instruction.
std::vector<OutwardJump> jumps_out(std::span<const std::byte> code, Address address,
                                   disasm::Decoder& decoder);

}  // namespace causalctl::callpath
