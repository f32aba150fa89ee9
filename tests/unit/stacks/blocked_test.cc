// Tests what is read of a thread without a stop: where it stands, what it waits in, how much stack
// there is.
#include <asm/perf_regs.h>
#include <sys/syscall.h>

#include <catch2/catch.hpp>
#include <string>

#include "controller/base/procfs.h"
#include "controller/stacks/waits.h"
#include "controller/stacks/walk.h"
#include "unwind/stack/blocked_stack.h"

namespace causalctl {

TEST_CASE("where a blocked thread stands", "[stacks]") {
  const auto futex =
      procfs::parse_off_core("202 0x7f00 0x80 0x1 0x2 0x3 0xffffffffffffffff 0x7ffd10 0x7f12ab\n");
  REQUIRE(futex);
  CHECK(futex->number == SYS_futex);
  CHECK(futex->arguments[0] == 0x7f00);
  CHECK(futex->arguments[5] == ~std::uint64_t{0});
  CHECK(futex->stack_pointer == 0x7ffd10);
  CHECK(futex->instruction == 0x7f12ab);
  const auto fault = procfs::parse_off_core("-1 0x7ffd10 0x4012ab\n");
  REQUIRE(fault);
  CHECK(fault->number == -1);
  CHECK(fault->arguments[0] == 0);
  CHECK(fault->stack_pointer == 0x7ffd10);
  CHECK(fault->instruction == 0x4012ab);
  for (const char* text : {"running\n", "", "202", "202 a b", "202 0x1 0x2 0x3\n", "x 0x1 0x2\n"}) {
    CAPTURE(text);
    CHECK_FALSE(procfs::parse_off_core(text));
  }
}

TEST_CASE("how often a thread came to a core and left one", "[stacks]") {
  CHECK(procfs::parse_switches_in("123456 789 42\n") == 42);
  CHECK(procfs::parse_switches_in("0 0 0\n") == 0);
  CHECK(procfs::parse_switches_in("") == 0);
  const std::string status =
      "Name:\tx\nState:\tS (sleeping)\nvoluntary_ctxt_switches:\t40\n"
      "nonvoluntary_ctxt_switches:\t2\n";
  CHECK(procfs::parse_switches_out(status) == 42);
  CHECK(procfs::parse_switches_out("Name:\tx\n") == 0);
}

TEST_CASE("the stack that is copied ends where the thread's ends", "[stacks]") {
  const auto map = [](Address start, Address end, const char* path, bool readable = true) {
    procfs::Map each;
    each.start = start;
    each.end = end;
    each.readable = readable;
    each.path = path;
    return each;
  };
  constexpr Address mib = 1U << 20U;
  const std::vector<procfs::Map> maps = {
      map(1 * mib, 2 * mib, ""), map(4 * mib, 4 * mib + 4096, "", false),
      map(5 * mib, 37 * mib, ""), map(100 * mib, 101 * mib, "[stack]")};
  using unwind::bytes_of_stack;
  CHECK(bytes_of_stack(maps, 100 * mib + 16, 0) == mib - 16);
  CHECK(bytes_of_stack(maps, 2 * mib - 4096, 0) == 4096);
  CHECK(bytes_of_stack(maps, 3 * mib, 0) == 0);
  CHECK(bytes_of_stack(maps, 4 * mib, 0) == 0);  // a guard page
  // Nothing says that it is a stack, but with the thread's block on top.
  CHECK(bytes_of_stack(maps, 6 * mib, 0) == mib / 4);
  CHECK(bytes_of_stack(maps, 6 * mib, 7 * mib) == mib + 8192);
  CHECK(bytes_of_stack(maps, 6 * mib, 5 * mib) == mib / 4);
  CHECK(bytes_of_stack(maps, 6 * mib, 36 * mib) == unwind::kLargestStackCopy);
}

TEST_CASE("registers that are not known are no addresses", "[stacks]") {
  unwind::BlockedStack blocked;
  blocked.at.stack_pointer = 0x7ffd10;
  blocked.at.instruction = 0x4012ab;
  blocked.at.arguments[0] = 0x401000;
  CHECK(blocked.registers().values[PERF_REG_X86_DI] != 0x401000);  // it is in no system call
  blocked.at.number = SYS_vfork;
  const auto registers = blocked.registers();
  CHECK(registers.values[PERF_REG_X86_SP] == 0x7ffd10);
  CHECK(registers.values[PERF_REG_X86_IP] == 0x4012ab);
  CHECK(registers.values[PERF_REG_X86_DI] == 0x401000);
  const auto bp = registers.values[PERF_REG_X86_BP];
  CHECK(bp % 8 != 0);
  CHECK(static_cast<std::int64_t>(bp) >> 47 != 0);   // not of the lower half
  CHECK(static_cast<std::int64_t>(bp) >> 47 != -1);  // nor of the upper one
}

TEST_CASE("what a thread waits in, in words", "[stacks]") {
  using stacks::text_of_wait;
  const auto target = [](int descriptor) {
    return descriptor == 3 ? std::string("socket:[42]") : std::string();
  };
  const auto in = [](long number, std::uint64_t first) {
    procfs::OffCore at;
    at.number = number;
    at.arguments[0] = first;
    return at;
  };
  CHECK(text_of_wait(in(SYS_read, 3), target) == "read(3: socket:[42])");
  CHECK(text_of_wait(in(SYS_epoll_wait, 7), target) == "epoll_wait(7)");
  CHECK(text_of_wait(in(SYS_futex, 0x7f00), target) == "futex(0x7f00)");
  CHECK(text_of_wait(in(SYS_wait4, 0xffffffff), target) == "wait4(-1)");
  CHECK(text_of_wait(in(SYS_clock_nanosleep, 1), target) == "clock_nanosleep");
  CHECK(text_of_wait(in(-1, 0), target).empty());
  CHECK(text_of_wait(in(99999, 0), target) == "system call 99999");
}

TEST_CASE("running threads are shown first", "[stacks]") {
  using report::stacks::State;
  using report::stacks::Thread;
  const auto thread = [](Tid tid, char state) {
    Thread each;
    each.tid = tid;
    each.state = stacks::state_of(state);
    return each;
  };
  CHECK(stacks::shown_before(thread(9, 'R'), thread(1, 'S')));
  CHECK(stacks::shown_before(thread(9, 'D'), thread(1, 'S')));
  CHECK(stacks::shown_before(thread(9, 'R'), thread(1, 'D')));
  CHECK(stacks::shown_before(thread(1, 'S'), thread(9, 'T')));
  CHECK_FALSE(stacks::shown_before(thread(1, 'S'), thread(9, 'R')));
  CHECK(stacks::state_of('t') == State::traced);
  CHECK(stacks::state_of('Z') == State::ended);
  CHECK(stacks::state_of('?') == State::unknown);
}

}  // namespace causalctl
