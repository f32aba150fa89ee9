// The tables by which stacks are unwound, of a file that a target has mapped: .eh_frame, of which
// libdw reads the entries, and Go's. Only our code is instrumented, as in elf_target.cc.
#include <algorithm>
#include <vector>

#include "controller/base/error.h"
#include "tests/fuzz/targets.h"
#include "unwind/tables/elf_image.h"
#include "unwind/tables/frame_table.h"
#include "unwind/tables/go_table.h"

namespace causalctl::fuzz {
namespace {

constexpr std::size_t kLargestTarget = 1U << 20U;
constexpr Address kLookups = 64;  // in each segment of code

void ask(unwind::FrameTable& table, const unwind::GoTable& go, Address address) {
  const auto rule = table.rule_at(address);
  INVARIANT(table.rule_at(address) == rule);
  const auto in_use = go.stack_at(address);
  INVARIANT(!in_use || *in_use >= 0);
}

}  // namespace

void read_unwind(Bytes bytes) {
  if (bytes.size() > kLargestTarget) return;
  const unwind::ElfImage image(bytes);
  if (!image.valid()) return;
  unwind::FrameTable table(image);
  const unwind::GoTable go(image);
  for (const auto& code : image.code_segments()) {
    const Address step = std::max<Address>(code.bytes.size() / kLookups, 1);
    for (Address at = 0; at < code.bytes.size(); at += step) ask(table, go, code.address + at);
  }
  // Where the search table says that functions begin, and at the ends of what addresses can be.
  const auto search = image.unwind_table();
  const std::uint64_t entries = search ? std::min<std::uint64_t>(search->count, kLookups) : 0;
  for (std::uint64_t i = 0; i < entries; ++i) {
    const auto offset = image.read<std::int32_t>(search->entries + 8 * i);
    if (offset) ask(table, go, search->header + static_cast<Address>(std::int64_t{*offset}));
  }
  for (const Address address : {Address{0}, ~Address{0}}) ask(table, go, address);
}

}  // namespace causalctl::fuzz
