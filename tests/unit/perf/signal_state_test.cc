#include "controller/perf/signal_state.h"

#include <signal.h>
#include <ucontext.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <thread>
#include <vector>

#include "controller/base/types.h"
#include "controller/perf/bpf/signal_frame.h"

namespace causalctl::perf {
namespace {

thread_local Address seen_frame = 0;
thread_local bool has_stack_pointer = false;  // where it should be in the frame

// The kernel's frame has the word to which the handler returns in front of the context.
void on_signal(int, siginfo_t*, void* context) {
  seen_frame = reinterpret_cast<Address>(context) - sizeof(Address);
  const auto* interrupted = reinterpret_cast<const greg_t*>(seen_frame + SIGNAL_FRAME_SP);
  has_stack_pointer =
      *interrupted == static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RSP];
}

// Returns where the frame of a signal is whose handler has this stack.
Address frame_on(std::byte* bottom, std::size_t size) {
  Address frame = 0;
  std::thread([&] {  // with a stack for signals of its own
    stack_t stack{};
    stack.ss_sp = bottom;
    stack.ss_size = size;
    sigaltstack(&stack, nullptr);
    raise(SIGUSR2);
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, nullptr);
    frame = has_stack_pointer ? seen_frame : 0;
  })
      .join();
  return frame;
}

}  // namespace

TEST_CASE("A signal's frame is where the size of the vector state says", "[perf]") {
  struct sigaction action {
  }, before{};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  REQUIRE(sigaction(SIGUSR2, &action, &before) == 0);
  constexpr std::size_t kSize = 1U << 16U;
  constexpr Address kAlignment = 64;
  std::vector<std::byte> memory(kSize + 2 * kAlignment);
  for (const std::size_t shift : {0U, 16U, 32U, 48U, 8U}) {
    const auto begin = reinterpret_cast<Address>(memory.data());
    std::byte* bottom = memory.data() + (kAlignment - begin % kAlignment) + shift;
    const auto top = reinterpret_cast<Address>(bottom) + kSize;
    const Address seen = frame_on(bottom, kSize);
    const auto sizes = signal_state_sizes();
    CHECK((seen == signal_frame_at(top, sizes[0]) || seen == signal_frame_at(top, sizes[1])));
  }
  sigaction(SIGUSR2, &before, nullptr);
}

}  // namespace causalctl::perf
