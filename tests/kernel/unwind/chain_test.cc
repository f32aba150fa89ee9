// Tests how chains are followed and where they end, on stacks made by hand of code in this program.
#include "unwind/stack/chain.h"

#include <asm/perf_regs.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstring>

#include "unwind/stack/unwinder.h"

// clang-format off
asm(R"(
.text
chain_test_root:
  .cfi_startproc
  .cfi_undefined 16
  call chain_test_pushes
chain_test_root_returns:
  nop
  .cfi_endproc
chain_test_pushes:
  .cfi_startproc
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset 6, -16
  call chain_test_leaf
chain_test_pushes_returns:
  pop %rbp
  .cfi_def_cfa_offset 8
  ret
  .cfi_endproc
chain_test_leaf:
  .cfi_startproc
  nop
  ret
  .cfi_endproc
chain_test_by_rbx:
  .cfi_startproc
  .cfi_def_cfa 3, 32
chain_test_by_rbx_at:
  nop
  .cfi_endproc
chain_test_signal_return:
  mov $15, %rax
  syscall
  nop
)");
// clang-format on

extern "C" {
extern const char chain_test_root_returns, chain_test_pushes_returns, chain_test_leaf,
    chain_test_by_rbx_at, chain_test_signal_return;
}

namespace causalctl::unwind {
namespace {

Address at(const char& symbol) { return reinterpret_cast<Address>(&symbol); }

struct Stack {
  std::array<Address, 256> words{};
  Registers registers;

  explicit Stack(Address ip) {
    registers.values[PERF_REG_X86_IP] = ip;
    registers.values[PERF_REG_X86_SP] = address(0);
    registers.values[PERF_REG_X86_BP] = 1;
  }
  Address address(std::size_t index) const { return reinterpret_cast<Address>(&words[index]); }
  // Makes it that of a signal's handler, which has interrupted two calls on the other stack, from
  // its word 150 on.
  void interrupts(Stack& other) {
    words[0] = at(chain_test_signal_return);
    other.words[150] = at(chain_test_pushes_returns);
    other.words[152] = at(chain_test_root_returns);
    ucontext_t context{};
    context.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(at(chain_test_leaf));
    context.uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(other.address(150));
    std::memcpy(&words[1], &context, sizeof(context.uc_mcontext.gregs) + 40);
  }
  Chain chain(std::size_t copied = 256, std::size_t depth = 16) const {
    Unwinder unwinder(getpid());
    return unwinder.unwind_chain(registers, std::as_bytes(std::span(words).first(copied)), depth);
  }
};

}  // namespace

TEST_CASE("Frames have their canonical addresses", "[unwind]") {
  Stack stack(at(chain_test_leaf));
  stack.words[0] = at(chain_test_pushes_returns);
  stack.words[2] = at(chain_test_root_returns);
  const Chain chain = stack.chain();
  CHECK(chain.end == ChainEnd::outermost);
  CHECK(chain.from_copy);
  const std::vector<UnwoundFrame> frames = {
      {at(chain_test_leaf), stack.address(1), FrameHow::instruction},
      {at(chain_test_pushes_returns), stack.address(3), FrameHow::table},
      {at(chain_test_root_returns), 0, FrameHow::table}};
  CHECK(chain.frames == frames);

  const Chain shorter = stack.chain(256, 2);
  CHECK(shorter.end == ChainEnd::depth);
  CHECK(shorter.frames == std::vector(frames.begin(), frames.begin() + 2));

  const Chain read_on = stack.chain(2);
  CHECK(read_on.frames == frames);
  CHECK_FALSE(read_on.from_copy);
}

TEST_CASE("A chain ends where a return address follows no call", "[unwind]") {
  Stack stack(at(chain_test_leaf));
  stack.words[0] = at(chain_test_pushes_returns);
  stack.words[2] = at(chain_test_leaf) + 1;
  const Chain chain = stack.chain();
  CHECK(chain.end == ChainEnd::no_call);
  CHECK(chain.frames.size() == 2);
}

TEST_CASE("A chain ends where the stack is neither in the copy nor readable", "[unwind]") {
  constexpr std::size_t kPage = 4096;
  void* pages =
      mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(pages != MAP_FAILED);
  auto* end = static_cast<std::byte*>(pages) + kPage;
  REQUIRE(mprotect(end, kPage, PROT_NONE) == 0);
  const Address word = at(chain_test_pushes_returns);
  std::memcpy(end - 2 * sizeof word, &word, sizeof word);
  Registers registers;
  registers.values[PERF_REG_X86_IP] = at(chain_test_leaf);
  registers.values[PERF_REG_X86_SP] = reinterpret_cast<Address>(end) - 2 * sizeof word;
  Unwinder unwinder(getpid());
  const Chain& chain = unwinder.unwind_chain(registers, {end - 16, 16}, 16);
  CHECK(chain.end == ChainEnd::copy_short);
  CHECK(chain.frames.size() == 2);
  munmap(pages, 2 * kPage);
}

TEST_CASE("Nothing is read from a stack whose calls have returned meanwhile", "[unwind]") {
  Stack stack(at(chain_test_leaf));
  stack.words[0] = at(chain_test_pushes_returns);
  stack.words[2] = at(chain_test_root_returns);
  const std::array<Address, 2> copy = {stack.words[0], stack.words[1]};
  stack.words[0] = 0;
  Unwinder unwinder(getpid());
  const Chain& chain = unwinder.unwind_chain(stack.registers, std::as_bytes(std::span(copy)), 16);
  CHECK(chain.end == ChainEnd::copy_short);
  CHECK(chain.frames.size() == 2);
}

TEST_CASE("A chain goes on below a signal", "[unwind]") {
  Stack handler(at(chain_test_leaf));
  Stack other(0);
  const bool alternate = GENERATE(false, true);
  Stack& interrupted = alternate ? other : handler;
  handler.interrupts(interrupted);
  const Chain chain = handler.chain();
  CHECK(chain.from_copy);
  REQUIRE(chain.frames.size() == (alternate ? 3 : 5));
  CHECK(chain.frames[1].ip == at(chain_test_signal_return));
  CHECK(chain.frames[1].how == FrameHow::signal);
  CHECK(chain.frames[2].ip == at(chain_test_leaf));
  CHECK(chain.frames[2].how == FrameHow::signal);
  // Nothing tells whether the other stack is still that of the sample.
  CHECK(chain.end == (alternate ? ChainEnd::unreadable : ChainEnd::outermost));
  if (!alternate) CHECK(chain.frames[4].ip == at(chain_test_root_returns));
}

TEST_CASE("A copy of what a handler has interrupted is followed", "[unwind]") {
  Stack handler(at(chain_test_leaf)), other(0);
  handler.interrupts(other);

  const std::size_t copied = GENERATE(1, 2, 100);
  const auto words = std::vector(&other.words[150], &other.words[150] + copied);
  const bool has_changed = GENERATE(false, true);
  if (has_changed) other.words[150] = 0;  // the handler is over
  Unwinder unwinder(getpid());
  const Chain& chain =
      unwinder.unwind_chain(handler.registers, std::as_bytes(std::span(handler.words)), 16, {},
                            {other.address(150), std::as_bytes(std::span(words))});
  const bool is_whole = copied == 100 || !has_changed;
  REQUIRE(chain.frames.size() == (is_whole ? 5 : 4));
  CHECK(chain.frames[3].ip == at(chain_test_pushes_returns));
  CHECK(chain.from_copy == (copied == 100));
  // A longer copy of the handler's stack would not help.
  CHECK(chain.end == (is_whole ? ChainEnd::outermost : ChainEnd::unreadable));
}

TEST_CASE("libunwind follows what the rules cannot say", "[unwind]") {
  Stack stack(at(chain_test_by_rbx_at));
  stack.registers.values[PERF_REG_X86_BX] = stack.address(4);
  stack.words[7] = at(chain_test_pushes_returns);
  stack.words[9] = at(chain_test_root_returns);
  const Chain chain = stack.chain();
  CHECK(chain.end == ChainEnd::outermost);
  REQUIRE(chain.frames.size() == 3);
  CHECK(chain.frames[0].cfa == stack.address(8));
  CHECK(chain.frames[1] ==
        UnwoundFrame{at(chain_test_pushes_returns), stack.address(10), FrameHow::libunwind});
  CHECK(chain.frames[2].how == FrameHow::table);
}

TEST_CASE("A context made by makecontext is the outermost frame of its stack", "[unwind]") {
  static ucontext_t back;
  static ucontext_t context;
  static std::array<std::byte, 65536> memory;
  static Chain chain;
  REQUIRE(getcontext(&context) == 0);
  context.uc_stack.ss_sp = memory.data();
  context.uc_stack.ss_size = memory.size();
  context.uc_link = &back;
  makecontext(
      &context,
      +[] {
        ucontext_t here;
        getcontext(&here);
        Registers registers;
        registers.values[PERF_REG_X86_IP] = static_cast<Address>(here.uc_mcontext.gregs[REG_RIP]);
        registers.values[PERF_REG_X86_SP] = static_cast<Address>(here.uc_mcontext.gregs[REG_RSP]);
        registers.values[PERF_REG_X86_BP] = static_cast<Address>(here.uc_mcontext.gregs[REG_RBP]);
        Unwinder unwinder(getpid());
        chain = unwinder.unwind_chain(registers, {}, 16);
      },
      0);
  REQUIRE(swapcontext(&back, &context) == 0);
  CHECK(chain.end == ChainEnd::outermost);
  CHECK(chain.frames.size() <= 2);  // the lambda, and what makes it a function
}

}  // namespace causalctl::unwind
