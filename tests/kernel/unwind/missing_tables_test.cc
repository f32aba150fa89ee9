// Tests the unwinder on stacks made by hand, of code in this very program: what no table describes,
// and what a table describes wrongly.
#include <asm/perf_regs.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "unwind/stack/unwinder.h"

// clang-format off
asm(R"(
.text
unwind_test_root:
  .cfi_startproc
  .cfi_undefined 16
  call unwind_test_outer
unwind_test_root_returns:
  call unwind_test_other
unwind_test_other_returns:
  call *%rax
unwind_test_indirect_returns:
  call unwind_test_thunk
unwind_test_thunk_returns:
  call unwind_test_bare
unwind_test_bare_returns:
  nop
  .cfi_endproc
unwind_test_outer:
  .cfi_startproc
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset 6, -16
  mov %rsp, %rbp
  .cfi_def_cfa_register 6
  sub $80, %rsp
  call unwind_test_inner
unwind_test_outer_returns:
  leave
  .cfi_def_cfa 7, 8
  ret
  .cfi_endproc
unwind_test_inner:
  .cfi_startproc
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset 6, -16
  pop %rbp
  .cfi_def_cfa_offset 8
unwind_test_popped:
  ret
  .cfi_endproc
unwind_test_thunk:
  jmp unwind_test_bare
unwind_test_bare:
  push %rbx
  push %r12
unwind_test_bare_at:
  pop %r12
  pop %rbx
  ret
unwind_test_other:
  ret
)");
// clang-format on

extern "C" {
extern const char unwind_test_root_returns, unwind_test_outer_returns, unwind_test_popped,
    unwind_test_bare, unwind_test_bare_at, unwind_test_other_returns, unwind_test_indirect_returns,
    unwind_test_thunk_returns, unwind_test_bare_returns;
}

namespace causalctl::unwind {
namespace {

Address address_of(const char& symbol) { return reinterpret_cast<Address>(&symbol); }

constexpr std::size_t kBelow = 8;  // words below the stack pointer

// Memory of this process that looks like a stack, with a copy of the part above the stack pointer.
struct StackInTable {
  std::array<Address, 512> words{};  // more than is searched
  Registers registers;

  explicit StackInTable(Address ip) {
    words.fill(0x1234567);
    registers.values[PERF_REG_X86_IP] = ip;
    registers.values[PERF_REG_X86_SP] = address(0);
    registers.values[PERF_REG_X86_BP] = 1;
  }

  Address address(std::size_t index) const {
    return reinterpret_cast<Address>(words.data() + kBelow + index);
  }
  Address& operator[](std::size_t index) { return words.at(kBelow + index); }

  std::vector<Address> unwound(bool complete) const {
    Unwinder unwinder(getpid());
    const auto chain =
        unwinder.unwind(registers, std::as_bytes(std::span(words).subspan(kBelow)), words.size());
    CHECK(unwinder.last_complete() == complete);
    return chain;
  }
};

using Addresses = std::vector<Address>;

}  // namespace

TEST_CASE("A register that was popped is not read from below the stack pointer", "[unwind]") {
  StackInTable stack(address_of(unwind_test_popped));
  stack[0] = address_of(unwind_test_outer_returns);
  stack.registers.values[PERF_REG_X86_BP] = stack.address(11);
  stack[11] = 0;
  stack[12] = address_of(unwind_test_root_returns);
  // What the target has meanwhile written where RBP was saved.
  stack.words.at(kBelow - 1) = stack.address(20);
  stack[21] = address_of(unwind_test_other_returns);
  CHECK(stack.unwound(true) == Addresses{address_of(unwind_test_popped),
                                         address_of(unwind_test_outer_returns),
                                         address_of(unwind_test_root_returns)});
}

TEST_CASE("The caller of code without a table is found on the stack", "[unwind]") {
  SECTION("by the return address that the stack pointer points to") {
    StackInTable stack(address_of(unwind_test_bare));
    stack[0] = address_of(unwind_test_indirect_returns);
    CHECK(stack.unwound(true) ==
          Addresses{address_of(unwind_test_bare), address_of(unwind_test_indirect_returns)});
  }
  SECTION("by the frame pointer") {
    StackInTable stack(address_of(unwind_test_bare_at));
    stack.registers.values[PERF_REG_X86_BP] = stack.address(50);
    stack[51] = address_of(unwind_test_indirect_returns);
    CHECK(stack.unwound(true) ==
          Addresses{address_of(unwind_test_bare_at), address_of(unwind_test_indirect_returns)});
  }
  SECTION("by a direct call that leads there, above what was pushed") {
    StackInTable stack(address_of(unwind_test_bare_at));
    stack[0] = address_of(unwind_test_other_returns);  // an old one
    stack[2] = address_of(unwind_test_bare_returns);
    CHECK(stack.unwound(true) ==
          Addresses{address_of(unwind_test_bare_at), address_of(unwind_test_bare_returns)});
  }
  SECTION("by a call over a thunk") {
    StackInTable stack(address_of(unwind_test_bare_at));
    stack[2] = address_of(unwind_test_thunk_returns);
    CHECK(stack.unwound(true) ==
          Addresses{address_of(unwind_test_bare_at), address_of(unwind_test_thunk_returns)});
  }
  SECTION("by an indirect call above what was pushed, if the chain is complete from there") {
    StackInTable stack(address_of(unwind_test_bare_at));
    stack[2] = address_of(unwind_test_indirect_returns);
    CHECK(stack.unwound(true) ==
          Addresses{address_of(unwind_test_bare_at), address_of(unwind_test_indirect_returns)});
  }
  SECTION("not by an address with no call before it") {
    StackInTable stack(address_of(unwind_test_bare_at));
    stack[0] = address_of(unwind_test_bare_returns) + 1;
    stack[1] = stack.address(0);
    CHECK(stack.unwound(false) == Addresses{address_of(unwind_test_bare_at)});
  }
}

TEST_CASE("The caller of code that was made at run time is found", "[unwind]") {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(page != MAP_FAILED);
  std::memset(page, 0x90, 4096);
  REQUIRE(mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0);
  const auto made = reinterpret_cast<Address>(page) + 100;
  StackInTable stack(made);
  stack[7] = address_of(unwind_test_indirect_returns);
  CHECK(stack.unwound(true) == Addresses{made, address_of(unwind_test_indirect_returns)});
  munmap(page, 4096);
}

}  // namespace causalctl::unwind
