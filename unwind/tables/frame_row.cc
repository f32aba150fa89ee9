#include "unwind/tables/frame_row.h"

#include <dwarf.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "controller/base/byte_reader.h"

namespace causalctl::unwind {
namespace {

// DWARF's numbers (System V ABI for x86-64, figure 3.36).
constexpr unsigned kRbp = 6;
constexpr unsigned kRsp = 7;
constexpr unsigned kReturnAddress = 16;
constexpr std::size_t kMostRemembered = 256;  // compilers nest one or two states

using Expression = std::span<const std::byte>;

struct Cfa {
  enum class Kind : std::uint8_t { none, offset, expression } kind = Kind::none;
  std::uint64_t base = 0;  // the register
  std::int64_t offset = 0;
  Expression expression;
};

// Where a register has the value that it had in the caller.
struct RegisterPlace {
  enum class Kind : std::uint8_t { same, undefined, at_cfa, at_expression, other };
  Kind kind = Kind::same;
  std::int64_t offset = 0;  // from the CFA
  Expression expression;
};

struct RowState {
  Cfa cfa;
  RegisterPlace bp;
  RegisterPlace return_address;
};

class Machine {
 public:
  Machine(const FrameEntry& entry, Address address)
      : entry_(entry), address_(address), low_(entry.low), high_(entry.high) {}

  // Returns false if an instruction is damaged or unknown.
  bool run() {
    if (!execute_all(entry_.initial) || low_ != entry_.low || done_) return false;
    initial_ = state_;
    return execute_all(entry_.instructions);
  }

  Address low() const { return low_; }  // of the row
  Address high() const { return high_; }
  const RowState& state() const { return state_; }

 private:
  bool execute_all(std::span<const std::byte> instructions) {
    reader_ = ByteReader(instructions);
    while (!reader_.at_end() && !done_) {
      if (!execute(reader_.byte()) || reader_.failed()) return false;
    }
    return true;
  }

  bool execute(std::uint8_t instruction) {
    const std::uint8_t operand = instruction & 0x3fU;
    switch (instruction & 0xc0U) {
      case DW_CFA_advance_loc:
        return advance(operand);
      case DW_CFA_offset:
        set(operand, RegisterPlace::Kind::at_cfa, factored(reader_.uleb()));
        return true;
      case DW_CFA_restore:
        return restore(operand);
      default:
        return execute_location(instruction) || execute_cfa(instruction) ||
               execute_register(instruction);
    }
  }

  // DW_CFA_set_loc is missing: no assembler writes it into .eh_frame.
  bool execute_location(std::uint8_t instruction) {
    switch (instruction) {
      case DW_CFA_nop:
        return true;
      case DW_CFA_advance_loc1:
        return advance(reader_.byte());
      case DW_CFA_advance_loc2:
        return advance(reader_.number<std::uint16_t>());
      case DW_CFA_advance_loc4:
        return advance(reader_.number<std::uint32_t>());
      case DW_CFA_remember_state:
        remembered_.push_back(state_);
        return remembered_.size() <= kMostRemembered;
      case DW_CFA_restore_state:
        if (remembered_.empty()) return false;
        state_ = remembered_.back();
        remembered_.pop_back();
        return true;
      case DW_CFA_GNU_args_size:
        reader_.uleb();
        return true;
      default:
        return false;
    }
  }

  bool execute_cfa(std::uint8_t instruction) {
    Cfa& cfa = state_.cfa;
    switch (instruction) {
      case DW_CFA_def_cfa:
        cfa = {Cfa::Kind::offset, reader_.uleb(), 0, {}};
        cfa.offset = static_cast<std::int64_t>(reader_.uleb());
        return true;
      case DW_CFA_def_cfa_sf:
        cfa = {Cfa::Kind::offset, reader_.uleb(), 0, {}};
        cfa.offset = factored(static_cast<std::uint64_t>(reader_.sleb()));
        return true;
      case DW_CFA_def_cfa_register:
        cfa.base = reader_.uleb();
        return cfa.kind == Cfa::Kind::offset;
      case DW_CFA_def_cfa_offset:
        cfa.offset = static_cast<std::int64_t>(reader_.uleb());
        return cfa.kind == Cfa::Kind::offset;
      case DW_CFA_def_cfa_offset_sf:
        cfa.offset = factored(static_cast<std::uint64_t>(reader_.sleb()));
        return cfa.kind == Cfa::Kind::offset;
      case DW_CFA_def_cfa_expression:
        cfa = {Cfa::Kind::expression, 0, 0, expression()};
        return true;
      default:
        return false;
    }
  }

  bool execute_register(std::uint8_t instruction) {
    const bool known = (instruction >= DW_CFA_offset_extended && instruction <= DW_CFA_register) ||
                       instruction == DW_CFA_expression ||
                       instruction == DW_CFA_offset_extended_sf ||
                       (instruction >= DW_CFA_val_offset && instruction <= DW_CFA_val_expression) ||
                       instruction == DW_CFA_GNU_negative_offset_extended;
    if (!known) return false;
    const std::uint64_t number = reader_.uleb();
    switch (instruction) {
      case DW_CFA_offset_extended:
        set(number, RegisterPlace::Kind::at_cfa, factored(reader_.uleb()));
        break;
      case DW_CFA_offset_extended_sf:
        set(number, RegisterPlace::Kind::at_cfa,
            factored(static_cast<std::uint64_t>(reader_.sleb())));
        break;
      case DW_CFA_GNU_negative_offset_extended:
        set(number, RegisterPlace::Kind::at_cfa, factored(0 - reader_.uleb()));
        break;
      case DW_CFA_restore_extended:
        return restore(number);
      case DW_CFA_undefined:
        set(number, RegisterPlace::Kind::undefined);
        break;
      case DW_CFA_same_value:
        set(number, RegisterPlace::Kind::same);
        break;
      case DW_CFA_expression:
        set(number, RegisterPlace::Kind::at_expression, 0, expression());
        break;
      case DW_CFA_val_expression:
        expression();
        set(number, RegisterPlace::Kind::other);
        break;
      default:  // DW_CFA_register, DW_CFA_val_offset and DW_CFA_val_offset_sf
        reader_.uleb();
        set(number, RegisterPlace::Kind::other);
    }
    return true;
  }

  // Ends the row if the next one begins behind the address.
  bool advance(std::uint64_t operand) {
    Address next = 0;
    if (__builtin_mul_overflow(operand, entry_.code_alignment, &next) ||
        __builtin_add_overflow(next, low_, &next)) {
      return false;
    }
    if (next > address_) {
      high_ = std::min(high_, next);
      done_ = true;
    } else {
      low_ = next;
    }
    return true;
  }

  // The product wraps around in a damaged file.
  std::int64_t factored(std::uint64_t value) const {
    return static_cast<std::int64_t>(value * static_cast<std::uint64_t>(entry_.data_alignment));
  }

  Expression expression() { return reader_.take(reader_.uleb()); }

  static RegisterPlace* place(RowState& state, std::uint64_t number) {
    if (number == kRbp) return &state.bp;
    return number == kReturnAddress ? &state.return_address : nullptr;
  }

  void set(std::uint64_t number, RegisterPlace::Kind kind, std::int64_t offset = 0,
           Expression bytes = {}) {
    if (RegisterPlace* changed = place(state_, number)) *changed = {kind, offset, bytes};
  }

  bool restore(std::uint64_t number) {
    if (RegisterPlace* changed = place(state_, number)) *changed = *place(initial_, number);
    return true;
  }

  const FrameEntry& entry_;
  Address address_;
  ByteReader reader_{{}};
  Address low_;
  Address high_;
  bool done_ = false;
  RowState state_;
  RowState initial_;  // after the instructions of the CIE
  std::vector<RowState> remembered_;
};

bool set_offset(std::int32_t& to, std::int64_t value) {
  to = static_cast<std::int32_t>(value);
  return to == value;
}

// The rest of the linker's expression for an entry of the procedure linkage table:
// RSP + 8 + ((RIP & 15) >= n) << 3. Sets n.
bool set_plt(FrameRule& rule, ByteReader& reader) {
  constexpr auto kCode =
      std::to_array<std::uint8_t>({DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and, DW_OP_lit0, DW_OP_ge,
                                   DW_OP_lit3, DW_OP_shl, DW_OP_plus});
  constexpr std::size_t kFrom = 4;
  unsigned from = 0;
  for (std::size_t i = 0; i < kCode.size(); ++i) {
    const std::uint8_t byte = reader.byte();
    if (i == kFrom) from = byte;
    if (i != kFrom && byte != kCode[i]) return false;
  }
  if (from < DW_OP_lit0 || from > DW_OP_lit31) return false;
  rule.cfa = FrameRule::Cfa::plt;
  rule.plt_from = static_cast<std::uint8_t>(from - DW_OP_lit0);
  return reader.at_end();
}

bool set_cfa(FrameRule& rule, Expression expression) {
  ByteReader reader(expression);
  const std::uint8_t base = reader.byte();
  if (base != DW_OP_breg6 && base != DW_OP_breg7) return false;
  if (!set_offset(rule.cfa_offset, reader.sleb()) || reader.failed()) return false;
  rule.cfa = base == DW_OP_breg6 ? FrameRule::Cfa::bp : FrameRule::Cfa::sp;
  if (reader.at_end()) return true;
  if (base == DW_OP_breg7) return set_plt(rule, reader);
  rule.cfa = FrameRule::Cfa::at_bp;
  return reader.byte() == DW_OP_deref && reader.at_end();
}

bool set_cfa(FrameRule& rule, const Cfa& cfa) {
  if (cfa.kind == Cfa::Kind::expression) return set_cfa(rule, cfa.expression);
  if (cfa.kind == Cfa::Kind::none || (cfa.base != kRsp && cfa.base != kRbp)) return false;
  rule.cfa = cfa.base == kRsp ? FrameRule::Cfa::sp : FrameRule::Cfa::bp;
  return set_offset(rule.cfa_offset, cfa.offset);
}

bool set_bp(FrameRule& rule, const RegisterPlace& place) {
  switch (place.kind) {
    case RegisterPlace::Kind::same:
      rule.bp = FrameRule::Bp::same;
      return true;
    case RegisterPlace::Kind::undefined:
      rule.bp = FrameRule::Bp::lost;
      return true;
    case RegisterPlace::Kind::at_cfa:
      rule.bp = FrameRule::Bp::saved;
      return set_offset(rule.bp_offset, place.offset);
    case RegisterPlace::Kind::at_expression: {
      ByteReader reader(place.expression);
      rule.bp = FrameRule::Bp::at_bp;
      return reader.byte() == DW_OP_breg6 && set_offset(rule.bp_offset, reader.sleb()) &&
             reader.at_end() && !reader.failed();
    }
    case RegisterPlace::Kind::other:
      break;
  }
  return false;
}

FrameRule rule_of(const FrameEntry& entry, const RowState& state) {
  FrameRule rule;
  // The rules for a signal's frame find other registers than the three of a FrameRule.
  if (entry.signal || entry.return_address != kReturnAddress) return {};
  if (state.return_address.kind == RegisterPlace::Kind::undefined) {
    rule.kind = FrameRule::Kind::outermost;
    return rule;
  }
  const bool simple = state.return_address.kind == RegisterPlace::Kind::at_cfa &&
                      state.return_address.offset == -8 && set_cfa(rule, state.cfa) &&
                      set_bp(rule, state.bp);
  if (!simple) return {};
  rule.kind = FrameRule::Kind::simple;
  return rule;
}

}  // namespace

std::optional<FrameRow> frame_row(const FrameEntry& entry, Address address) {
  if (address < entry.low || address >= entry.high) return std::nullopt;
  Machine machine(entry, address);
  if (!machine.run()) return std::nullopt;
  return FrameRow{machine.low(), machine.high(), rule_of(entry, machine.state())};
}

}  // namespace causalctl::unwind
