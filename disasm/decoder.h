// x86-64 instructions by capstone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "controller/base/types.h"

namespace causalctl::disasm {

struct Instruction {
  Address address = 0;
  unsigned size = 0;
  std::string mnemonic;
  std::string operands;
};

class Decoder {
 public:
  Decoder();  // throws Error when capstone cannot be opened
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  // The instruction at the start of `code`, which lies at `address`; nullopt: not an instruction.
  std::optional<Instruction> decode(std::span<const std::byte> code, Address address);

  // Decoding from `start` (a known boundary, such as a function's entry) reaches `address` exactly.
  // `code` are the bytes at `start`, at least up to and including the instruction at `address`.
  bool is_boundary(std::span<const std::byte> code, Address start, Address address);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace causalctl::disasm
