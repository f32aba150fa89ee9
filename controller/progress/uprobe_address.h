// Where a uprobe can count the visits of an instruction on which none can stand.
//
// The kernel refuses instructions with a `lock` or segment prefix and a few others (errno 524;
// is_prefix_bad() and good_insns_64 of arch/x86/kernel/uprobes.c). A counter that ends a piece of
// work, `lock add`, is just what people take as a point. A neighbour in the same basic block is
// executed exactly as often: the instruction after, unless something jumps to it, or the one
// before, unless something jumps to the refused one.
//
// What jumps where is known by decoding the whole function, and the ranges that it jumps to
// (`function.cold`). In a function with a jump through a register or a table it is not known.
#pragma once

#include <optional>
#include <span>

#include "controller/base/types.h"
#include "disasm/decoder.h"
#include "unwind/symbolizer.h"

namespace causalctl::progress {

// Pure. By the bytes of one instruction: whether the kernel refuses a uprobe there.
bool refuses_uprobe(std::span<const std::byte> instruction);

// A piece of code that was decoded.
struct CodeRange {
  Address start = 0;
  std::span<const std::byte> bytes;
};

// Pure. The address of an instruction that is executed exactly as often as that at `address` and
// can hold a uprobe; nullopt where none can be proven to. `function` holds the address and begins
// at an instruction; `others` are ranges that may jump into it.
std::optional<Address> executed_as_often(disasm::Decoder& decoder, Address address,
                                         CodeRange function, std::span<const CodeRange> others);

// `address` itself where a uprobe can stand on it. nullopt: as above.
std::optional<Address> uprobe_address(Pid target, Address address, unwind::Symbolizer& symbolizer);

}  // namespace causalctl::progress
