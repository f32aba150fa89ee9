#include "controller/base/procfs.h"

#include <linux/capability.h>
#include <sys/auxv.h>

#include <catch2/catch.hpp>

namespace causalctl::procfs {
namespace {

TEST_CASE("The kernel's functions of a blocked thread are read, innermost first", "[base]") {
  CHECK(procfs::parse_kernel_stack("[<0>] ep_poll+0x2f4/0x3b0\n"
                                   "[<0>] fuse_dev_do_read+0x1/0x2 [fuse]\n"
                                   "[<0>] 0xffffffffc0123456\n"
                                   "broken\n"
                                   "[<0>] entry_SYSCALL_64_after_hwframe+0x76/0x7e\n") ==
        std::vector<std::string>{"ep_poll", "fuse_dev_do_read", "entry_SYSCALL_64_after_hwframe"});
  CHECK(procfs::parse_kernel_stack("").empty());
}

TEST_CASE("what /proc/PID/status says is read key by key", "[procfs]") {
  const Status status = parse_status(
      "Name:\tworker\nTgid:\t40\nTracerPid:\t7\nUid:\t1000\t1001\t1000\t1000\nThreads:\t3\n"
      "SigBlk:\t0000000000000010\nSigCgt:\tffffffff00000000\nCapEff:\t000000c000004000\n"
      "Seccomp:\t2\n");
  CHECK(status.name == "worker");
  CHECK(status.tracer_pid == 7);
  CHECK(status.uid == 1001);
  CHECK(status.threads == 3);
  CHECK(status.signals_blocked == 0x10);
  CHECK(status.signals_caught == 0xffff'ffff'0000'0000);
  CHECK(status.capabilities == (1ULL << CAP_IPC_LOCK | 1ULL << CAP_PERFMON | 1ULL << CAP_BPF));
  CHECK(status.seccomp == 2);
}

TEST_CASE("a name in /proc/PID/status is told as the process has it", "[procfs]") {
  CHECK(parse_status("Name:\tquote\"\\\\\n").name == "quote\"\\");
  CHECK(parse_status("Name:\ttwo\\nlines\n").name == "two\nlines");
  CHECK(parse_status("Name:\t\\\\n\n").name == "\\n");
  CHECK(parse_status("Name:\t\t tab \n").name == "\t tab ");
  CHECK(parse_status("Name:\t\nTgid:\t4\n").name.empty());
}

TEST_CASE("fields of /proc/PID/stat are counted from behind the name", "[procfs]") {
  constexpr auto text = "7 (a b) c) S 5 7 7 0 -1 4 9 9 0 0 11 12 30 4 20 0 1 0 8123 9 9";
  CHECK(parse_parent(text) == 5);
  CHECK(parse_user_ticks(text) == 11);
  CHECK(parse_user_ticks("7 (x) S 1 2") == 0);
  CHECK(parse_children_ticks(text) == 34);
  CHECK(parse_children_ticks("7 (x) S 1 2") == 0);
  CHECK(parse_children_ticks("") == 0);
  CHECK(parse_start_ticks(text) == 8123);
  CHECK(parse_start_ticks("7 (x) S 1 2") == 0);
  CHECK(parse_parent("7 x S 5") == 0);
  constexpr auto first = "7 (a) S 5 7 7 0 -1 4194560 9";
  CHECK_FALSE(parse_is_kernel_worker(first, first));
  CHECK(parse_is_kernel_worker("8 (iou-sqp-7) S 5 7 7 0 -1 4210768 9", first));
  CHECK(parse_is_kernel_worker("8 (vhost-7) S 5 7 7 0 -1 4210752 9", first));
  // Before Linux 5.17 the bit was PF_USED_ASYNC, which either all threads of a process have or
  // none.
  CHECK_FALSE(
      parse_is_kernel_worker("8 (a) S 5 7 7 0 -1 4210944 9", "7 (a) S 5 7 7 0 -1 4210944 9"));
  CHECK_FALSE(parse_is_kernel_worker("", ""));
}

TEST_CASE("entries are found in the auxiliary vector", "[procfs]") {
  const std::uint64_t words[] = {AT_PAGESZ, 4096, AT_ENTRY, 0x5555'0000'1040, AT_NULL, 0};
  const std::string_view bytes(reinterpret_cast<const char*>(words), sizeof words);
  CHECK(parse_auxiliary(bytes, AT_ENTRY) == 0x5555'0000'1040);
  CHECK(parse_auxiliary(bytes.substr(0, 31), AT_ENTRY) == 0);  // cut off within the value
  CHECK(parse_auxiliary(bytes.substr(0, 16), AT_ENTRY) == 0);
  CHECK(parse_auxiliary("", AT_ENTRY) == 0);
  CHECK(parse_auxiliary(bytes, AT_EXECFN) == 0);
}

}  // namespace

TEST_CASE("who holds a lock", "[base]") {
  constexpr auto locks =
      "1: FLOCK  ADVISORY  WRITE 708 00:17:1234 0 EOF\n"
      "1: -> FLOCK  ADVISORY  WRITE 709 00:17:1234 0 EOF\n"
      "2: POSIX  ADVISORY  WRITE 710 00:17:99 0 EOF\n"
      "3: FLOCK  ADVISORY  READ  711 08:01:99 0 EOF\n";
  CHECK(procfs::parse_flock_holder(locks, "00:17:1234") == 708);
  CHECK(procfs::parse_flock_holder(locks, "08:01:99") == 711);
  CHECK(procfs::parse_flock_holder(locks, "00:17:99") == 0);
  CHECK(procfs::parse_flock_holder(locks, "00:17:12345") == 0);
  CHECK(procfs::parse_flock_holder("1: FLOCK", "00:17:1234") == 0);
  CHECK(procfs::parse_flock_holder("", "00:17:1234") == 0);
}

TEST_CASE("Lines of maps have a device, and newlines in their paths", "[procfs]") {
  const auto maps = procfs::parse_maps(
      "1000-2000 r-xp 00000000 fe:01 11 /new\\012line/[wip] a\n"
      "2000-3000 r-xp 00000000 00:2b 12 /b\n");
  REQUIRE(maps.size() == 2);
  CHECK(maps[0].path == "/new\nline/[wip] a");
  CHECK(maps[0].device == ((0xfeULL << 32U) | 1U));
  CHECK(maps[1].device == 0x2b);
}

}  // namespace causalctl::procfs
