// Tests the pure parts of controller/tracee: what /proc says of a thread, the rewind of system
// calls, the comparison of digests, and the stub's image.
#include <fmt/format.h>
#include <sys/syscall.h>

#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "controller/base/cgroup.h"
#include "controller/tracee/code_bytes.h"
#include "controller/tracee/digest.h"
#include "controller/tracee/inject/stopped_thread.h"
#include "controller/tracee/inject/stub.h"
#include "controller/tracee/process.h"

namespace causalctl::tracee {
namespace {

ptrace::Registers in_call(long number, long result) {
  ptrace::Registers registers{};
  registers.rip = 0x1002;
  registers.orig_rax = static_cast<std::uint64_t>(number);
  registers.rax = static_cast<std::uint64_t>(result);
  return registers;
}

}  // namespace

TEST_CASE("/proc/PID/task/TID/syscall", "[tracee]") {
  CHECK(parse_activity("running\n")->kind == Activity::Kind::running);
  const auto futex = parse_activity("202 0x7f 0x80 0x0 0x0 0x0 0x0 0x7ffd10 0x7f12ab\n");
  REQUIRE(futex);
  CHECK(futex->kind == Activity::Kind::in_syscall);
  CHECK(futex->number == SYS_futex);
  CHECK(futex->instruction == 0x7f12ab);
  const auto fault = parse_activity("-1 0x7ffd10 0x4012ab\n");
  REQUIRE(fault);
  CHECK(fault->kind == Activity::Kind::blocked);
  CHECK(fault->instruction == 0x4012ab);
  CHECK_FALSE(parse_activity(""));
  CHECK_FALSE(parse_activity("202"));
  CHECK_FALSE(parse_activity("202 a b"));
}

TEST_CASE("a program's other name is told, not another path of it", "[tracee]") {
  CHECK(other_name("redis-server", "/usr/bin/redis-check-rdb") == "redis-server");
  CHECK(other_name("/usr/local/bin/gunicorn", "/usr/bin/python3.11") == "gunicorn");
  CHECK(other_name("./prog", "/srv/prog").empty());
  CHECK(other_name("./prog", "").empty());  // the file cannot be read
}

TEST_CASE("only a call that returned EINTR is rewound", "[tracee]") {
  const auto rewound = with_syscall_rewound(in_call(SYS_epoll_wait, -EINTR), false);
  CHECK(rewound.rip == 0x1000);
  CHECK(rewound.rax == SYS_epoll_wait);
  CHECK(static_cast<long>(rewound.orig_rax) == -1);
  for (const long result : {0L, 7L, long{-EAGAIN}, -512L, -513L, -514L, -516L}) {
    const auto same = with_syscall_rewound(in_call(SYS_epoll_wait, result), false);
    CHECK(same.rip == 0x1002);
    CHECK(static_cast<long>(same.rax) == result);
    CHECK(same.orig_rax == SYS_epoll_wait);
  }
  const auto user_mode = with_syscall_rewound(in_call(-1, -EINTR), false);
  CHECK(user_mode.rip == 0x1002);
}

TEST_CASE("what becomes of a call that a stop has met", "[tracee]") {
  const auto fate = [](long number, long result, bool seccomp = false) {
    const StoppedCalls met = met_by_stop(in_call(number, result), seccomp);
    return std::array{met.continued, met.repeated, met.broken};
  };
  using Fate = std::array<std::uint64_t, 3>;
  CHECK(fate(SYS_read, -512) == Fate{1, 0, 0});
  CHECK(fate(SYS_poll, -516) == Fate{1, 0, 0});
  CHECK(fate(SYS_poll, -516, true) == Fate{0, 1, 0});
  CHECK(fate(SYS_epoll_wait, -EINTR) == Fate{0, 1, 0});
  CHECK(fate(SYS_close, -EINTR) == Fate{0, 0, 1});
  CHECK(fate(SYS_read, 7) == Fate{0, 0, 0});
  CHECK(fate(-1, -EINTR) == Fate{0, 0, 0});  // it is in no system call
}

TEST_CASE("a write that a stop may have cut short is counted", "[tracee]") {
  const auto shortened = [](long number, long result, std::uint64_t asked) {
    ptrace::Registers registers = in_call(number, result);
    registers.rdx = asked;
    CHECK(cut_short(registers) == (met_by_stop(registers, false).shortened == 1));
    return cut_short(registers);
  };
  CHECK(shortened(SYS_write, 100, 4096));
  CHECK(shortened(SYS_sendto, 1, 2));
  CHECK_FALSE(shortened(SYS_write, 4096, 4096));
  CHECK_FALSE(shortened(SYS_write, 0, 4096));
  CHECK_FALSE(shortened(SYS_write, -512, 4096));
  CHECK_FALSE(shortened(SYS_read, 100, 4096));  // short reads are usual
  CHECK_FALSE(shortened(-1, 100, 4096));
}

TEST_CASE("close is never made twice", "[tracee]") {
  const auto same = with_syscall_rewound(in_call(SYS_close, -EINTR), false);
  CHECK(same.rip == 0x1002);
  CHECK(static_cast<long>(same.rax) == -EINTR);
}

TEST_CASE("the freezer's cgroup of a process", "[tracee]") {
  const auto both = cgroup_paths("7:cpu,freezer:/a/b:c\n3:cpuset:/x\n0::/user\n", "freezer");
  CHECK(both.version_1 == "/a/b:c");
  CHECK(both.version_2 == "/user");
  const auto none = cgroup_paths("3:cpuset:/x\n2:cpu,freezers:/y\nnonsense\n", "freezer");
  CHECK_FALSE(none.version_1);
  CHECK_FALSE(none.version_2);
}

TEST_CASE("under seccomp no call goes on by restart_syscall", "[tracee]") {
  const auto rewound = with_syscall_rewound(in_call(SYS_poll, -516), true);
  CHECK(rewound.rip == 0x1000);
  CHECK(rewound.rax == SYS_poll);
  CHECK(static_cast<long>(rewound.orig_rax) == -1);
  CHECK(with_syscall_rewound(in_call(SYS_poll, -512), true).rip == 0x1002);
}

TEST_CASE("an interrupted call is told from a finished one and from user mode", "[tracee]") {
  CHECK(interrupted_syscall(in_call(SYS_read, -512)));
  CHECK(interrupted_syscall(in_call(SYS_nanosleep, -516)));
  CHECK(interrupted_syscall(in_call(SYS_epoll_wait, -EINTR)));
  CHECK_FALSE(interrupted_syscall(in_call(SYS_read, 17)));
  CHECK_FALSE(interrupted_syscall(in_call(SYS_read, -517)));
  CHECK_FALSE(interrupted_syscall(in_call(SYS_read, -511)));
  CHECK_FALSE(interrupted_syscall(in_call(-1, -512)));
}

TEST_CASE("digests are compared by name", "[tracee]") {
  const Digest before{{"mapping: no", "page /lib +0: 12", "traced: 0"}, {"SIGTRAP: default"}};
  CHECK(differences(before, before).empty());
  const auto changed = differences(before, {{"mapping: no", "traced: 2"}, {}});
  REQUIRE(changed.size() == 1);
  CHECK(changed[0] == "traced: 0 before, 2 after");
  // The target loaded one library and unloaded another, or has ended, which is its own business.
  CHECK(differences(before, {{"mapping: no", "page /plugin +0: 3", "traced: 0"}, {}}).empty());
  CHECK(differences(before, {}).empty());
  // The digest taken afterwards says which differences are ours, because it knows what we have
  // touched.
  const Digest by_us{{"SIGTRAP: handled"}, {}};
  const Digest by_itself{{}, {"SIGTRAP: handled"}};
  CHECK(differences(before, by_us) ==
        std::vector<std::string>{"SIGTRAP: default before, handled after"});
  CHECK(own_changes(before, by_us).empty());
  CHECK(differences(before, by_itself).empty());
  CHECK(own_changes(before, by_itself) ==
        std::vector<std::string>{"SIGTRAP: default before, handled after"});
}

TEST_CASE("a uprobe of another process is told from one of ours", "[tracee]") {
  const std::vector<unsigned char> plain = {0x55, 0x48, 0x0f, 0x1f, 0x44, 0, 0, 0xc3};
  const std::vector<unsigned char> probed = {0xcc, 0x48, 0x0f, 0x1f, 0x44, 0, 0, 0xc3};
  const std::vector<unsigned char> nop_probed = {0x55, 0x48, 0xcc, 0x1f, 0x44, 0, 0, 0xc3};
  const std::vector<unsigned char> called = {0x55, 0x48, 0xe8, 0x12, 0x34, 0, 0x7f, 0xc3};
  const std::vector<unsigned char> patched = {0x90, 0x48, 0x0f, 0x1f, 0x44, 0, 0, 0xc3};
  const auto code = [](const std::vector<unsigned char>& text) {
    const auto bytes = std::as_bytes(std::span(text));
    return std::vector{CodeBytes{"text", 0x1000, {bytes.begin(), bytes.end()}}};
  };
  const auto is_other = [&](const auto& before, const auto& after, std::vector<Address> own) {
    return !changed_by_uprobes(code(before), code(after), own).empty();
  };
  CHECK(is_other(plain, probed, {}));
  CHECK(is_other(probed, plain, {}));
  CHECK(is_other(probed, nop_probed, {}));
  CHECK(is_other(plain, called, {}));
  CHECK(is_other(nop_probed, called, {}));
  CHECK(is_other(called, plain, {}));
  CHECK(is_other(plain, probed, {0x1003}));
  CHECK_FALSE(is_other(plain, probed, {0x1000}));
  CHECK_FALSE(is_other(plain, patched, {}));
  CHECK_FALSE(is_other(called, patched, {}));
}

TEST_CASE("FNV-1a", "[tracee]") {
  const std::string text = "foobar";
  CHECK(fnv1a({}) == 0xcbf29ce484222325);
  CHECK(fnv1a(std::as_bytes(std::span(text))) == 0x85944171f73967e8);
}

TEST_CASE("the stub's image", "[tracee]") {
  const auto image = stub_image({0x1000, 0x2000});
  constexpr unsigned char endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
  CHECK(std::memcmp(image.data(), endbr64, sizeof endbr64) == 0);
  CHECK(image.size() < 512);
  StubParameters parameters;
  std::memcpy(&parameters, image.data() + image.size() - sizeof parameters, sizeof parameters);
  CHECK(parameters.slots_begin == 0x1000);
  CHECK(parameters.slots_end == 0x2000);
  // Unwinders recognise a signal frame by these bytes at its return address.
  constexpr unsigned char restorer[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
  const auto offset = stub_action(0x10000, 0).restorer - 0x10000;
  CHECK(std::memcmp(image.data() + offset, restorer, sizeof restorer) == 0);
}

TEST_CASE("the stub blocks what the target handles, and not what the kernel drops", "[tracee]") {
  const auto set = [](int signal) { return std::uint64_t{1} << (signal - 1); };
  const std::uint64_t by_default = set(SIGCHLD) | set(SIGCONT) | set(SIGURG) | set(SIGWINCH);
  CHECK(dropped_signals(0, 0) == by_default);
  CHECK(dropped_signals(set(SIGPIPE), 0) == (by_default | set(SIGPIPE)));
  CHECK(dropped_signals(0, set(SIGCHLD) | set(SIGUSR1)) == (by_default & ~set(SIGCHLD)));
  CHECK(stub_action(0x10000, set(SIGCHLD)).mask == ~set(SIGCHLD));
}

}  // namespace causalctl::tracee
