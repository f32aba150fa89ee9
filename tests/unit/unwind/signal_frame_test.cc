// Tests signal frames on one that the kernel makes, for a signal that this test sends itself.
#include "unwind/stack/signal_frame.h"

#include <asm/perf_regs.h>
#include <signal.h>
#include <ucontext.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <span>
#include <vector>

#include "unwind/stack/chain.h"

namespace causalctl::unwind {
namespace {

std::optional<Registers> found;
std::array<greg_t, NGREG> truth;

void handle(int, siginfo_t*, void* context) {
  const auto* saved = static_cast<const ucontext_t*>(context);
  std::memcpy(truth.data(), saved->uc_mcontext.gregs, sizeof truth);
  // The context is what follows the return address of the handler.
  found = interrupted(reinterpret_cast<Address>(context), [](Address address) {
    return std::optional(*reinterpret_cast<const Address*>(address));  // NOLINT: of this process
  });
}

template <std::size_t size>
bool returns(const std::array<std::uint8_t, size>& code) {
  return is_signal_return(std::as_bytes(std::span(code)));
}

}  // namespace

TEST_CASE("the registers that a signal interrupted are found", "[unwind]") {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO;
  REQUIRE(sigaction(SIGUSR2, &action, &before) == 0);
  raise(SIGUSR2);
  sigaction(SIGUSR2, &before, nullptr);
  REQUIRE(found);
  const auto value = [](int number) { return found->values[number]; };
  const auto true_value = [](int number) { return static_cast<Address>(truth.at(number)); };
  CHECK(value(PERF_REG_X86_IP) == true_value(REG_RIP));
  CHECK(value(PERF_REG_X86_SP) == true_value(REG_RSP));
  CHECK(value(PERF_REG_X86_BP) == true_value(REG_RBP));
  CHECK(value(PERF_REG_X86_BX) == true_value(REG_RBX));
  CHECK(value(PERF_REG_X86_AX) == true_value(REG_RAX));
  CHECK(value(PERF_REG_X86_CX) == true_value(REG_RCX));
  CHECK(value(PERF_REG_X86_R8) == true_value(REG_R8));
  CHECK(value(PERF_REG_X86_R15) == true_value(REG_R15));
}

TEST_CASE("a frame that cannot be read interrupts nothing", "[unwind]") {
  CHECK_FALSE(interrupted(0x1000, [](Address) { return std::optional<Address>(); }));
}

TEST_CASE("code that ends a handler is known by its bytes", "[unwind]") {
  CHECK(returns(std::array<std::uint8_t, 9>{0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05}));
  CHECK(returns(std::array<std::uint8_t, 7>{0xb8, 15, 0, 0, 0, 0x0f, 0x05}));
  CHECK_FALSE(returns(std::array<std::uint8_t, 7>{0xb8, 14, 0, 0, 0, 0x0f, 0x05}));
  CHECK_FALSE(returns(std::array<std::uint8_t, 6>{0xb8, 15, 0, 0, 0, 0x0f}));
  CHECK_FALSE(is_signal_return({}));
  CHECK_FALSE(is_context_end({}));
}

TEST_CASE("only addresses to return to are looked up before them", "[unwind]") {
  CHECK(code_at({0x100, 0, FrameHow::instruction}) == 0x100);
  CHECK(code_at({0x100, 0, FrameHow::signal}) == 0x100);
  CHECK(code_at({0x100, 0, FrameHow::table}) == 0xff);
  CHECK(code_at({0x100, 0, FrameHow::guess}) == 0xff);
}

TEST_CASE("code that ends a thread behind a call is told from other code", "[unwind]") {
  const auto ends = [](std::vector<std::uint8_t> code) {
    return is_thread_end(std::as_bytes(std::span(code)));
  };
  CHECK(ends({0x89, 0xc7, 0x31, 0xc0, 0xb0, 60, 0x0f, 0x05, 0xf4}));
  CHECK(ends({0x89, 0xc7, 0xb8, 60, 0, 0, 0, 0x0f, 0x05}));
  CHECK_FALSE(ends({0x89, 0xc7, 0x31, 0xc0, 0xb0, 60, 0x0f}));
  CHECK_FALSE(ends({0x89, 0xc7, 0x31, 0xc0, 0xb0, 61, 0x0f, 0x05}));  // wait4(2)
  CHECK_FALSE(ends({}));
}

}  // namespace causalctl::unwind
