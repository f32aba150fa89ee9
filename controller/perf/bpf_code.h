// Emits the instructions of a BPF program (<linux/bpf.h>, Documentation/bpf/instruction-set.rst).
// Registers are BPF_REG_0 to BPF_REG_10. Jumps go to labels, and are patched at the end. Pure.
#pragma once

#include <linux/bpf.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace causalctl::perf {

class BpfCode {
 public:
  void add(int code, int to, int from, int offset, std::int32_t immediate) {
    bpf_insn each{};
    each.code = static_cast<std::uint8_t>(code);
    each.dst_reg = static_cast<unsigned>(to) & 0xfU;
    each.src_reg = static_cast<unsigned>(from) & 0xfU;
    each.off = static_cast<std::int16_t>(offset);
    each.imm = immediate;
    instructions_.push_back(each);
  }
  void move(int to, int from) { add(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0); }
  void set(int to, std::int32_t value) { add(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value); }
  void set_long(int to, std::uint64_t value) {
    add(BPF_LD | BPF_IMM | BPF_DW, to, 0, 0, static_cast<std::int32_t>(value));
    add(0, 0, 0, 0, static_cast<std::int32_t>(value >> 32));
  }
  void add_to(int to, int from) { add(BPF_ALU64 | BPF_ADD | BPF_X, to, from, 0, 0); }
  void add_number(int to, std::int32_t value) { add(BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, value); }
  void shift_right(int to, std::int32_t bits) { add(BPF_ALU64 | BPF_RSH | BPF_K, to, 0, 0, bits); }
  void shift_left(int to, std::int32_t bits) { add(BPF_ALU64 | BPF_LSH | BPF_K, to, 0, 0, bits); }
  void call(int function) { add(BPF_JMP | BPF_CALL, 0, 0, 0, function); }
  // Sets `to` to the 8 bytes at from + offset.
  void load(int to, int from, int offset) { add(BPF_LDX | BPF_MEM | BPF_DW, to, from, offset, 0); }
  void store(int to, int offset, int from) { add(BPF_STX | BPF_MEM | BPF_DW, to, from, offset, 0); }
  // Adds `from` to the 8 bytes at to + offset, atomically.
  void atomic_add(int to, int offset, int from) {
    add(BPF_STX | BPF_ATOMIC | BPF_DW, to, from, offset, BPF_ADD);
  }
  void set_to_map(int to, int map) { load_map(to, BPF_PSEUDO_MAP_FD, map); }
  // Sets `to` to the address of the first byte of an array's only value.
  void set_to_map_value(int to, int map) { load_map(to, BPF_PSEUDO_MAP_VALUE, map); }
  // Sets `to` to the 8 bytes at from + offset in the kernel. Uses r1 to r3 and the stack's first
  // word.
  void read_kernel(int to, int from, int offset) {
    constexpr int stack = -8;
    move(BPF_REG_3, from);
    add_number(BPF_REG_3, offset);
    move(BPF_REG_1, BPF_REG_10);
    add_number(BPF_REG_1, stack);
    set(BPF_REG_2, sizeof(std::uint64_t));
    call(BPF_FUNC_probe_read_kernel);
    load(to, BPF_REG_10, stack);
  }

  using Label = std::size_t;
  Label label() {
    places_.push_back(0);
    return places_.size() - 1;
  }
  void place(Label label) { places_[label] = instructions_.size(); }
  // `condition` is BPF_JEQ | BPF_K or another one of the register `left` and the register `right`
  // or `value`.
  void jump_if(int condition, int left, int right, std::int32_t value, Label to) {
    jumps_.emplace_back(instructions_.size(), to);
    add(BPF_JMP | condition, left, right, 0, value);
  }
  void jump(Label to) { jump_if(BPF_JA, 0, 0, 0, to); }
  void flag_if_not_zero(int value, int flags, std::int32_t bit) {
    const Label zero = label();
    jump_if(BPF_JEQ | BPF_K, value, 0, 0, zero);
    add(BPF_ALU64 | BPF_OR | BPF_K, flags, 0, 0, bit);
    place(zero);
  }

  std::vector<bpf_insn> end() {  // r0 is the result
    add(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
    for (const auto& [from, to] : jumps_) {
      instructions_[from].off = static_cast<std::int16_t>(places_[to] - from - 1);
    }
    return std::move(instructions_);
  }

 private:
  void load_map(int to, int kind, int map) {
    add(BPF_LD | BPF_IMM | BPF_DW, to, kind, 0, map);
    add(0, 0, 0, 0, 0);
  }

  std::vector<bpf_insn> instructions_;
  std::vector<std::size_t> places_;                   // by label: the index of the instruction
  std::vector<std::pair<std::size_t, Label>> jumps_;  // the instruction, and where it jumps to
};

}  // namespace causalctl::perf
