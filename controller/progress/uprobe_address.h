// Finds where a uprobe can count the visits of an instruction on which none can stand.
//
// The kernel refuses instructions with a `lock` or segment prefix and a few others (errno 524;
// is_prefix_bad() and good_insns_64 of arch/x86/kernel/uprobes.c). People often choose exactly such
// an instruction as a point: a counter that ends a piece of work, `lock add`. A neighbour in the
// same basic block is executed exactly as often: the instruction after it, unless there is a jump
// to that one, or the instruction before it, unless there is a jump to the refused one.
//
// All jumps are found by decoding the whole function, and the ranges that it jumps to
// (`function.cold`). This is impossible in a function with a computed jump whose places are not
// known (disasm/jump_table.h).
#pragma once

#include <optional>
#include <span>

#include "controller/base/types.h"
#include "disasm/decoder.h"
#include "disasm/graph.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::progress {

// Returns, by the bytes of one instruction, whether the kernel refuses a uprobe there. Pure.
bool refuses_uprobe(std::span<const std::byte> instruction);

// A piece of decoded code.
struct CodeRange {
  Address start = 0;
  std::span<const std::byte> bytes;
};

// Returns the address of an instruction that is executed exactly as often as that at `address` and
// that a uprobe can stand on, or nullopt if none can be proven to be. `function` contains the
// address and begins at an instruction; `others` are ranges that may jump into it. Pure.
std::optional<Address> executed_as_often(disasm::Decoder& decoder, Address address,
                                         CodeRange function, std::span<const CodeRange> others,
                                         const disasm::Constants& constants);

// Returns `address` itself if a uprobe can stand on it. Returns nullopt as above.
std::optional<Address> uprobe_address(Pid target, Address address, unwind::Symbolizer& symbolizer);

}  // namespace causalctl::progress
