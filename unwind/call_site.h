// Tells whether bytes of x86-64 code end with a call, and where a direct call leads. Pure.
//
// A word of the stack that points behind a call is most likely a return address. Source: Intel SDM
// volume 2, CALL: E8 rel32, or FF /2 with a ModRM byte, an optional SIB byte and a displacement.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "controller/base/types.h"

namespace causalctl::unwind {

inline constexpr std::size_t kLongestCall = 8;  // a REX prefix, FF, ModRM, SIB, 32-bit displacement

struct CallSite {
  std::optional<Address> target;  // of a direct call
};

// `code` has the bytes in front of the return address. Returns nullopt if they end with no call.
std::optional<CallSite> call_before(std::span<const std::byte> code, Address return_address);

// Where code that only jumps leads: an entry of the procedure linkage table, or a thunk.
struct Jump {
  Address address = 0;
  bool indirect = false;  // true if the target is the pointer that is stored at `address`
};

// Returns the jump at the start of `code`, which lies at `address`, if there is one there, maybe
// behind ENDBR64.
std::optional<Jump> jump_at(std::span<const std::byte> code, Address address);

}  // namespace causalctl::unwind
