// Decodes x86-64 instructions by capstone.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "controller/base/types.h"
#include "disasm/instruction.h"

namespace causalctl::disasm {

class Decoder {
 public:
  Decoder();  // throws Error if capstone cannot be opened
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  // Returns the instruction at the start of `code`, which lies at `address`, or nullopt if there is
  // none.
  std::optional<Instruction> decode(std::span<const std::byte> code, Address address);

  // Calls `visit` with each instruction of `code`, which begins with one at `address`, in the order
  // of their addresses. Decoding begins anew behind a byte that is no instruction.
  void for_each(std::span<const std::byte> code, Address address,
                const std::function<void(const Instruction&)>& visit);

  // Returns all of these, of some 200 bytes each.
  std::vector<Instruction> decode_all(std::span<const std::byte> code, Address address);

  // Returns whether decoding from `start` (a known boundary, such as a function's entry) reaches
  // `address` exactly. `code` has the bytes from `start` at least to the end of the instruction at
  // `address`.
  bool is_boundary(std::span<const std::byte> code, Address start, Address address);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Returns the index of the instruction that begins at the address. `code` is in the order of
// addresses.
std::optional<std::size_t> index_at(std::span<const Instruction> code, Address address);
// Returns whether the address is in the code.
bool is_within(std::span<const Instruction> code, Address address);

}  // namespace causalctl::disasm
