#include "controller/callpath/places/jumps.h"

namespace causalctl::callpath {

std::vector<OutwardJump> jumps_out(std::span<const std::byte> code, Address address,
                                   disasm::Decoder& decoder) {
  std::vector<OutwardJump> jumps;
  decoder.for_each(code, address, [&](const disasm::Instruction& each) {
    const bool leaves = disasm::jumps(each) && each.target && *each.target - address >= code.size();
    if (leaves) {
      jumps.push_back({each.address, *each.target, each.flow == disasm::Flow::branch});
    }
  });
  return jumps;
}

}  // namespace causalctl::callpath
