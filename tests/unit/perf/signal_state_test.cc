#include "controller/perf/signal_state.h"

#include <signal.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::perf {
namespace {

thread_local std::uintptr_t seen_frame = 0;

// The kernel's frame has the word to which the handler returns in front of the context.
void on_signal(int, siginfo_t*, void* context) {
  seen_frame = reinterpret_cast<std::uintptr_t>(context) - sizeof(Address);
}

// Returns how far below the top of its handler's stack the frame of a signal is.
std::uintptr_t frame_below(std::byte* bottom, std::size_t size) {
  std::uintptr_t distance = 0;
  std::thread([&] {  // with a stack for signals of its own
    stack_t stack{};
    stack.ss_sp = bottom;
    stack.ss_size = size;
    sigaltstack(&stack, nullptr);
    raise(SIGUSR2);
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, nullptr);
    distance = reinterpret_cast<std::uintptr_t>(bottom) + size - seen_frame;
  })
      .join();
  return distance;
}

}  // namespace

TEST_CASE("A signal's frame is where the size of the vector state says", "[perf]") {
  struct sigaction action {
  }, before{};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  REQUIRE(sigaction(SIGUSR2, &action, &before) == 0);
  constexpr std::size_t kSize = 1U << 16U;
  constexpr std::uintptr_t kAlignment = 64, kFrame = 440, kFrameAlignment = 16;
  std::vector<std::byte> memory(kSize + 2 * kAlignment);
  for (const std::size_t shift : {0U, 16U, 32U, 48U, 8U}) {
    auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    std::byte* bottom = memory.data() + (kAlignment - address % kAlignment) + shift;
    const std::uintptr_t top = reinterpret_cast<std::uintptr_t>(bottom) + kSize;
    // As bpf/interrupted.bpf.h has it.
    const auto sizes = signal_state_sizes();
    const auto below = [&](std::uint32_t size) {
      const std::uintptr_t state = (top - size) / kAlignment * kAlignment;
      return top - ((state - kFrame) / kFrameAlignment * kFrameAlignment - sizeof(Address));
    };
    const std::array<std::uintptr_t, 2> possible = {below(sizes[0]), below(sizes[1])};
    CHECK(std::count(possible.begin(), possible.end(), frame_below(bottom, kSize)) > 0);
  }
  sigaction(SIGUSR2, &before, nullptr);
}

}  // namespace causalctl::perf
