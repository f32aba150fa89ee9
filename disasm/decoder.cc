#include "disasm/decoder.h"

#include <capstone/capstone.h>
#include <fmt/format.h>

#include "controller/base/error.h"

namespace causalctl::disasm {

struct Decoder::Impl {
  ~Impl() {
    if (instruction != nullptr) cs_free(instruction, 1);
    cs_close(&handle);
  }

  // Decodes into `instruction`, which cs_malloc made, so that no instruction needs an allocation.
  bool next(std::span<const std::byte> code, Address address) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(code.data());
    std::size_t size = code.size();
    return cs_disasm_iter(handle, &bytes, &size, &address, instruction);
  }

  csh handle = 0;
  cs_insn* instruction = nullptr;
};

Decoder::Decoder() : impl_(std::make_unique<Impl>()) {
  const cs_err error = cs_open(CS_ARCH_X86, CS_MODE_64, &impl_->handle);
  if (error != CS_ERR_OK) {
    throw Error(fmt::format("cs_open(x86-64): {}", cs_strerror(error)),
                "install a capstone library built with x86 support");
  }
  impl_->instruction = cs_malloc(impl_->handle);
  if (impl_->instruction == nullptr) throw Error("cs_malloc: out of memory");
}

Decoder::~Decoder() = default;

std::optional<Instruction> Decoder::decode(std::span<const std::byte> code, Address address) {
  if (!impl_->next(code, address)) return std::nullopt;
  const cs_insn& found = *impl_->instruction;
  return Instruction{address, found.size, found.mnemonic, found.op_str};
}

unsigned Decoder::length(std::span<const std::byte> code, Address address) {
  return impl_->next(code, address) ? impl_->instruction->size : 0;
}

bool Decoder::is_boundary(std::span<const std::byte> code, Address start, Address address) {
  Address at = start;
  while (at < address && at - start < code.size()) {
    if (!impl_->next(code.subspan(at - start), at)) return false;
    at += impl_->instruction->size;
  }
  // There must be an instruction at the address, too: data that follows the code is not one.
  return at == address && at - start < code.size() && impl_->next(code.subspan(at - start), at);
}

}  // namespace causalctl::disasm
