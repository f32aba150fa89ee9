// Emits the instructions of a BPF program (<linux/bpf.h>, Documentation/bpf/instruction-set.rst).
// Registers are BPF_REG_0 to BPF_REG_10. Pure.
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
  void add_to(int to, int from) { add(BPF_ALU64 | BPF_ADD | BPF_X, to, from, 0, 0); }
  void add_number(int to, std::int32_t value) { add(BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, value); }
  void shift_right(int to, std::int32_t bits) { add(BPF_ALU64 | BPF_RSH | BPF_K, to, 0, 0, bits); }
  void shift_left(int to, std::int32_t bits) { add(BPF_ALU64 | BPF_LSH | BPF_K, to, 0, 0, bits); }
  void call(int function) { add(BPF_JMP | BPF_CALL, 0, 0, 0, function); }
  // to = the 8 bytes at from + offset
  void load(int to, int from, int offset) { add(BPF_LDX | BPF_MEM | BPF_DW, to, from, offset, 0); }
  void store(int to, int offset, int from) { add(BPF_STX | BPF_MEM | BPF_DW, to, from, offset, 0); }
  // *(to + offset) += from, atomically
  void atomic_add(int to, int offset, int from) {
    add(BPF_STX | BPF_ATOMIC | BPF_DW, to, from, offset, BPF_ADD);
  }
  void set_to_map(int to, int map) { load_map(to, BPF_PSEUDO_MAP_FD, map); }
  // The address of the first byte of an array's only value.
  void set_to_map_value(int to, int map) { load_map(to, BPF_PSEUDO_MAP_VALUE, map); }
  void set_long(int to, std::uint64_t value) {
    add(BPF_LD | BPF_IMM | BPF_DW, to, 0, 0, static_cast<std::int32_t>(value));
    add(0, 0, 0, 0, static_cast<std::int32_t>(value >> 32));
  }
  // To the end of the program, where `condition` (BPF_JEQ, …) holds of the register and the value.
  void jump_to_end_if(int condition, int left, std::int32_t value) {
    to_end_.push_back(instructions_.size());
    add(BPF_JMP | condition | BPF_K, left, 0, 0, value);
  }
  void jump_over_if(int condition, int left, std::int32_t value, int instructions) {
    add(BPF_JMP | condition | BPF_K, left, 0, instructions, value);
  }
  std::size_t size() const { return instructions_.size(); }

  // The program, which returns `result`.
  std::vector<bpf_insn> end(std::int32_t result) {
    for (const std::size_t each : to_end_) {
      instructions_[each].off = static_cast<std::int16_t>(instructions_.size() - each - 1);
    }
    set(BPF_REG_0, result);
    add(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
    return std::move(instructions_);
  }

 private:
  void load_map(int to, int kind, int map) {
    add(BPF_LD | BPF_IMM | BPF_DW, to, kind, 0, map);
    add(0, 0, 0, 0, 0);
  }

  std::vector<bpf_insn> instructions_;
  std::vector<std::size_t> to_end_;
};

}  // namespace causalctl::perf
