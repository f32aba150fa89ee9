// Tells whether bytes of x86-64 code end with a call, and where a direct call leads. Pure.
//
// A word of the stack that points behind a call is most likely a return address. Source: Intel SDM
// volume 2, CALL: E8 rel32, or FF /2 with a ModRM byte, an optional SIB byte and a displacement.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::unwind {

inline constexpr std::size_t kLongestCall = 8;  // a REX prefix, FF, ModRM, SIB, 32-bit displacement

struct CallSite {
  std::optional<Address> target;  // of a direct call
};

// `code` has the bytes in front of the return address. Returns nullopt if they end with no call.
std::optional<CallSite> call_before(std::span<const std::byte> code, Address return_address);

// Returns where direct calls in the code lead within it, sorted: functions begin there. They are
// found byte by byte, so a few are none; few bytes that are no call lead into the code by chance.
std::vector<Address> call_targets(std::span<const std::byte> code, Address address);

// Where code that only jumps leads: an entry of the procedure linkage table, or a thunk.
struct Jump {
  Address address = 0;
  bool indirect = false;  // true if the target is the pointer that is stored at `address`
};

// Returns the jump at the start of `code`, which lies at `address`, if there is one there, maybe
// behind ENDBR64.
std::optional<Jump> jump_at(std::span<const std::byte> code, Address address);

// Returns whether a direct jump in the code, which lies at `address`, leads to [low, high]: a
// function that ends by calling another one ends with such a jump.
bool jumps_into(std::span<const std::byte> code, Address address, Address low, Address high);

}  // namespace causalctl::unwind
