// Decodes x86-64 instructions by capstone.
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
  Decoder();  // throws Error if capstone cannot be opened
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  // Returns the instruction at the start of `code`, which lies at `address`, or nullopt if there is
  // none.
  std::optional<Instruction> decode(std::span<const std::byte> code, Address address);

  // Returns the size of that instruction, 0 if there is none.
  unsigned length(std::span<const std::byte> code, Address address);

  // Returns whether decoding from `start` (a known boundary, such as a function's entry) reaches
  // `address` exactly. `code` has the bytes from `start` at least to the end of the instruction at
  // `address`.
  bool is_boundary(std::span<const std::byte> code, Address start, Address address);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace causalctl::disasm
