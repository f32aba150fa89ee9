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

}  // namespace
}  // namespace causalctl::procfs
