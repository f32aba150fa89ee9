#include "controller/base/procfs.h"

#include <linux/capability.h>

#include <catch2/catch.hpp>

namespace causalctl::procfs {
namespace {

TEST_CASE("what /proc/PID/status says is read key by key", "[procfs]") {
  const Status status = parse_status(
      "Name:\tworker\nTgid:\t40\nTracerPid:\t7\nUid:\t1000\t1001\t1000\t1000\nThreads:\t3\n"
      "SigBlk:\t0000000000000010\nSigCgt:\tffffffff00000000\nCapEff:\t000000c000004000\n"
      "Seccomp:\t2\n");
  CHECK(status.tracer_pid == 7);
  CHECK(status.uid == 1001);
  CHECK(status.threads == 3);
  CHECK(status.signals_blocked == 0x10);
  CHECK(status.signals_caught == 0xffff'ffff'0000'0000);
  CHECK(status.capabilities == (1ULL << CAP_IPC_LOCK | 1ULL << CAP_PERFMON | 1ULL << CAP_BPF));
  CHECK(status.seccomp == 2);
}

TEST_CASE("fields of /proc/PID/stat are counted from behind the name", "[procfs]") {
  constexpr auto text = "7 (a b) c) S 5 7 7 0 -1 4 9 9 0 0 11 12 30 4 20 0 1 0 8123 9 9";
  CHECK(parse_parent(text) == 5);
  CHECK(parse_children_ticks(text) == 34);
  CHECK(parse_children_ticks("7 (x) S 1 2") == 0);
  CHECK(parse_children_ticks("") == 0);
  CHECK(parse_start_ticks(text) == 8123);
  CHECK(parse_start_ticks("7 (x) S 1 2") == 0);
  CHECK(parse_parent("7 x S 5") == 0);
}

}  // namespace
}  // namespace causalctl::procfs
