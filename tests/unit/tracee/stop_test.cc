#include "controller/tracee/stop.h"

#include <sys/ptrace.h>

#include <catch2/catch.hpp>
#include <csignal>

namespace causalctl::tracee {
namespace {

int stopped(int signal, int event = 0) { return 0x7f | (signal << 8) | (event << 16); }

}  // namespace

TEST_CASE("wait statuses", "[tracee]") {
  CHECK(std::holds_alternative<Ended>(decode_stop(0)));
  CHECK(std::holds_alternative<Ended>(decode_stop(3 << 8)));
  CHECK(std::holds_alternative<Ended>(decode_stop(SIGKILL)));
  CHECK(std::holds_alternative<SyscallStop>(decode_stop(stopped(SIGTRAP | 0x80))));
  CHECK(std::get<SignalStop>(decode_stop(stopped(SIGTERM))).signal == SIGTERM);
  CHECK(std::get<SignalStop>(decode_stop(stopped(SIGTRAP))).signal == SIGTRAP);
  const auto interrupt = std::get<EventStop>(decode_stop(stopped(SIGTRAP, PTRACE_EVENT_STOP)));
  CHECK(interrupt.event == PTRACE_EVENT_STOP);
  CHECK(interrupt.signal == SIGTRAP);
  const auto group = std::get<EventStop>(decode_stop(stopped(SIGSTOP, PTRACE_EVENT_STOP)));
  CHECK(group.signal == SIGSTOP);
  CHECK(std::get<EventStop>(decode_stop(stopped(SIGTRAP, PTRACE_EVENT_EXEC))).event ==
        PTRACE_EVENT_EXEC);
}

}  // namespace causalctl::tracee
