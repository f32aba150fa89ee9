#include "tests/unit/unwind/libdw_rules.h"

#include <dwarf.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <limits>

namespace causalctl::unwind {
namespace {

// DWARF's numbers (System V ABI for x86-64, figure 3.36).
constexpr unsigned kRbp = 6;
constexpr unsigned kRsp = 7;
constexpr unsigned kReturnAddress = 16;

using Ops = std::span<const Dwarf_Op>;

struct Based {  // a register plus an offset
  unsigned number = 0;
  std::int32_t offset = 0;
};

std::optional<std::int32_t> small(Dwarf_Word word) {
  const auto value = static_cast<std::int64_t>(word);
  if (value < std::numeric_limits<std::int32_t>::min() ||
      value > std::numeric_limits<std::int32_t>::max()) {
    return std::nullopt;
  }
  return static_cast<std::int32_t>(value);
}

std::optional<Based> based(const Dwarf_Op& op) {
  if (op.atom == DW_OP_bregx) {
    const auto offset = small(op.number2);
    return offset ? std::optional(Based{static_cast<unsigned>(op.number), *offset}) : std::nullopt;
  }
  if (op.atom < DW_OP_breg0 || op.atom > DW_OP_breg31) return std::nullopt;
  const auto offset = small(op.number);
  return offset ? std::optional(Based{op.atom - DW_OP_breg0 + 0U, *offset}) : std::nullopt;
}

// The linker's expression for an entry of the procedure linkage table:
// RSP + 8 + ((RIP & 15) >= n) << 3. Returns n.
std::optional<std::uint8_t> plt_from(Ops ops) {
  constexpr std::array kAtoms = {DW_OP_breg7, DW_OP_breg16, DW_OP_lit15, DW_OP_and, DW_OP_lit0,
                                 DW_OP_ge,    DW_OP_lit3,   DW_OP_shl,   DW_OP_plus};
  constexpr std::size_t kFrom = 4;
  if (ops.size() != kAtoms.size() || ops[1].number != 0) return std::nullopt;
  for (std::size_t i = 0; i < kAtoms.size(); ++i) {
    if (i != kFrom && ops[i].atom != kAtoms[i]) return std::nullopt;
  }
  const unsigned from = ops[kFrom].atom;
  if (from < DW_OP_lit0 || from > DW_OP_lit31) return std::nullopt;
  return static_cast<std::uint8_t>(from - DW_OP_lit0);
}

bool set_cfa(FrameRule& rule, Ops ops) {
  const auto base = ops.empty() ? std::nullopt : based(ops[0]);
  if (!base || (base->number != kRsp && base->number != kRbp)) return false;
  rule.cfa_offset = base->offset;
  if (ops.size() == 1) {
    rule.cfa = base->number == kRsp ? FrameRule::Cfa::sp : FrameRule::Cfa::bp;
    return true;
  }
  if (ops.size() == 2 && base->number == kRbp && ops[1].atom == DW_OP_deref) {
    rule.cfa = FrameRule::Cfa::at_bp;
    return true;
  }
  const auto from = plt_from(ops);
  if (!from) return false;
  rule.cfa = FrameRule::Cfa::plt;
  rule.plt_from = *from;
  return true;
}

// Where a register was saved.
struct RowPlace {
  enum class Kind : std::uint8_t { same, undefined, at_cfa, other } kind = Kind::other;
  std::int32_t offset = 0;
  Ops ops;
  std::array<Dwarf_Op, 3> memory;
};

void find_place(Dwarf_Frame* frame, unsigned number, RowPlace& place) {
  Dwarf_Op* ops = nullptr;
  std::size_t count = 0;
  if (dwarf_frame_register(frame, static_cast<int>(number), place.memory.data(), &ops, &count) !=
      0) {
    return;
  }
  if (count == 0) {
    place.kind = ops == nullptr ? RowPlace::Kind::same : RowPlace::Kind::undefined;
    return;
  }
  place.ops = Ops(ops, count);
  if (ops[0].atom != DW_OP_call_frame_cfa) return;
  place.ops = place.ops.subspan(1);
  if (count == 1) place.kind = RowPlace::Kind::at_cfa;
  if (count != 2 || ops[1].atom != DW_OP_plus_uconst) return;
  const auto offset = small(ops[1].number);
  if (!offset) return;
  place.kind = RowPlace::Kind::at_cfa;
  place.offset = *offset;
}

bool set_bp(FrameRule& rule, Dwarf_Frame* frame) {
  RowPlace place;
  find_place(frame, kRbp, place);
  rule.bp_offset = place.offset;
  switch (place.kind) {
    case RowPlace::Kind::same:
      rule.bp = FrameRule::Bp::same;
      return true;
    case RowPlace::Kind::undefined:
      rule.bp = FrameRule::Bp::lost;
      return true;
    case RowPlace::Kind::at_cfa:
      rule.bp = FrameRule::Bp::saved;
      return true;
    case RowPlace::Kind::other:
      break;
  }
  const auto base = place.ops.size() == 1 ? based(place.ops[0]) : std::nullopt;
  if (!base || base->number != kRbp) return false;
  rule.bp = FrameRule::Bp::at_bp;
  rule.bp_offset = base->offset;
  return true;
}

FrameRule rule_of(Dwarf_Frame* frame) {
  FrameRule rule;
  RowPlace return_address;
  find_place(frame, kReturnAddress, return_address);
  if (return_address.kind == RowPlace::Kind::undefined) {
    rule.kind = FrameRule::Kind::outermost;
    return rule;
  }
  Dwarf_Op* ops = nullptr;
  std::size_t count = 0;
  const bool simple = return_address.kind == RowPlace::Kind::at_cfa &&
                      return_address.offset == -8 && dwarf_frame_cfa(frame, &ops, &count) == 0 &&
                      set_cfa(rule, Ops(ops, count)) && set_bp(rule, frame);
  if (!simple) return {};
  rule.kind = FrameRule::Kind::simple;
  return rule;
}

}  // namespace

LibdwRules::LibdwRules(std::span<const std::byte> file) {
  elf_version(EV_CURRENT);
  // libelf's interface is not const, but it does not write to what was not changed.
  auto* bytes = reinterpret_cast<char*>(const_cast<std::byte*>(file.data()));  // NOLINT
  elf_.reset(elf_memory(bytes, file.size()));
  if (elf_) table_.reset(dwarf_getcfi_elf(elf_.get()));
}

std::optional<FrameRow> LibdwRules::row_at(Address address) {
  Dwarf_Frame* frame = nullptr;
  if (!table_ || dwarf_cfi_addrframe(table_.get(), address, &frame) != 0) return std::nullopt;
  const std::unique_ptr<Dwarf_Frame, decltype(&std::free)> owner(frame, &std::free);
  Dwarf_Addr start = 0;
  Dwarf_Addr end = 0;
  bool signal = false;
  if (dwarf_frame_info(frame, &start, &end, &signal) < 0) return std::nullopt;
  return FrameRow{address, end, signal ? FrameRule() : rule_of(frame)};
}

}  // namespace causalctl::unwind
