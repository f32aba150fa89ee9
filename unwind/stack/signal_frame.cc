#include "unwind/stack/signal_frame.h"

#include <asm/perf_regs.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace causalctl::unwind {
namespace {

bool begins_with(std::span<const std::byte> code, std::span<const std::uint8_t> bytes) {
  return code.size() >= bytes.size() &&
         std::equal(bytes.begin(), bytes.end(), code.begin(),
                    [](std::uint8_t wanted, std::byte each) { return std::byte{wanted} == each; });
}

// mov $15, %rax; syscall, with the long and the short encoding of the first.
constexpr std::array<std::uint8_t, 9> kLong = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};
constexpr std::array<std::uint8_t, 7> kShort = {0xb8, 15, 0, 0, 0, 0x0f, 0x05};
// mov %rbx, %rsp; mov (%rsp), %rdi; test %rdi, %rdi
constexpr std::array<std::uint8_t, 10> kContextEnd = {0x48, 0x89, 0xdc, 0x48, 0x8b,
                                                      0x3c, 0x24, 0x48, 0x85, 0xff};
// mov %eax, %edi; then xor %eax, %eax; mov $60, %al, or mov $60, %eax; then syscall
constexpr std::array<std::uint8_t, 8> kExit = {0x89, 0xc7, 0x31, 0xc0, 0xb0, 60, 0x0f, 0x05};
constexpr std::array<std::uint8_t, 9> kShortExit = {0x89, 0xc7, 0xb8, 60, 0, 0, 0, 0x0f, 0x05};

// Where struct sigcontext begins in struct ucontext, and the order of its registers. Source:
// arch/x86/include/uapi/asm/{ucontext,sigcontext}.h.
constexpr Address kRegisters = 40;
constexpr std::array kOrder = {
    PERF_REG_X86_R8,  PERF_REG_X86_R9,  PERF_REG_X86_R10, PERF_REG_X86_R11, PERF_REG_X86_R12,
    PERF_REG_X86_R13, PERF_REG_X86_R14, PERF_REG_X86_R15, PERF_REG_X86_DI,  PERF_REG_X86_SI,
    PERF_REG_X86_BP,  PERF_REG_X86_BX,  PERF_REG_X86_DX,  PERF_REG_X86_AX,  PERF_REG_X86_CX,
    PERF_REG_X86_SP,  PERF_REG_X86_IP};

}  // namespace

bool is_signal_return(std::span<const std::byte> code) {
  return begins_with(code, kLong) || begins_with(code, kShort);
}

bool is_context_end(std::span<const std::byte> code) { return begins_with(code, kContextEnd); }

bool is_thread_end(std::span<const std::byte> code) {
  return begins_with(code, kExit) || begins_with(code, kShortExit);
}

std::optional<Registers> interrupted(Address sp,
                                     const std::function<std::optional<Address>(Address)>& word) {
  Registers registers;
  Address at = sp + kRegisters;
  for (const int number : kOrder) {
    const auto value = word(at);
    if (!value) return std::nullopt;
    registers.values[number] = *value;
    at += sizeof(Address);
  }
  return registers;
}

}  // namespace causalctl::unwind
