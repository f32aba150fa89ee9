#include "controller/callpath/analysis/present_time.h"

#include <array>
#include <catch2/catch.hpp>

#include "controller/callpath/analysis/present.h"
#include "controller/report/callpath/head.h"
#include "tests/unit/callpath/recordings.h"

namespace causalctl::callpath {
namespace {

using What = report::callpath::TimeFinding::What;

// A second, of which half a second of CPU time is on paths.
Recording half() {
  Recording r = small_recording();
  r.slices.clear();
  r.account = {};
  r.losses = {};
  r.wall_ns = kSecond;
  r.add({0, 0, Metric::cpu_ns}, 1, kSecond / 2);
  return r;
}

std::vector<std::string> lines_of(const Recording& r) {
  return report::callpath::time_lines(present(std::array{r}));
}

bool has(const std::vector<std::string>& lines, const std::string& text) {
  for (const std::string& line : lines) {
    if (line.find(text) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("the share of the CPU time that is missing is told, with its cause",
          "[callpath][present]") {
  Recording r = half();
  CHECK(lines_of(r).empty());  // nothing is known
  r.account.cpu_ns = kSecond / 2 + 5 * kMillisecond;
  CHECK(lines_of(r).empty());
  CHECK(present(std::array{r}).time.front().ns == 5 * kMillisecond);
  r.account.cpu_ns = kSecond;
  CHECK(has(lines_of(r), "50.0 % of the CPU time is missing: the kernel counts 1.0 s"));
  CHECK(has(lines_of(r), "Why is not known."));
  r.account.unreadable_program = true;
  CHECK(has(lines_of(r), "executed a program that causalctl may not read"));
  CHECK_FALSE(has(lines_of(r), "Why is not known."));
  r.losses.records_lost = 637;
  CHECK(has(lines_of(r), "637 records were lost"));
  r.account.threads_begun = 90;
  r.account.threads_missed = 10;
  CHECK(has(lines_of(r), "100 threads began meanwhile"));
  CHECK(has(lines_of(r), "10 had ended before"));
  r.account.switches = 20'000;
  CHECK(has(lines_of(r), "Threads came to a core 20000 times"));
}

TEST_CASE("time without a path is told", "[callpath][present]") {
  Recording r = half();
  r.add({0, 0, Metric::blocked_ns}, 1, kSecond);
  r.add({0, 0, Metric::blocked_ns}, kRoot, 20 * kMillisecond);
  CHECK(lines_of(r).empty());
  r.add({0, 0, Metric::blocked_ns}, kRoot, 3 * kSecond);
  r.account.threads_at_start = 3001;
  r.account.stacks_not_read = 2000;
  CHECK(has(lines_of(r), "75.1 % of the time blocked has no path"));
  CHECK(has(lines_of(r), "Of 3001 threads at the beginning, the stacks of 2000 were not read"));
  r.add({0, 0, Metric::stopped_ns}, kRoot, kSecond);
  r.add({0, 0, Metric::frozen_ns}, 1, kSecond);
  CHECK(has(lines_of(r), "100.0 % of the time stopped has no path"));
  CHECK_FALSE(has(lines_of(r), "time frozen has no path"));
}

TEST_CASE("what kept the process from running is told", "[callpath][present]") {
  Recording r = half();
  r.account.stopped_ns = kSecond / 4;
  CHECK(has(lines_of(r), "was stopped by a signal (SIGSTOP) for 250 ms of the 1.0 s."));
  r.account.halted_at_end = "stopped";
  CHECK(has(lines_of(r), "kill -CONT"));
  r.account.tracer = 12;
  CHECK(has(lines_of(r), "by its tracer, process 12, "));
  r.account.frozen_ns = kSecond;
  CHECK(has(lines_of(r), "was frozen by its control group all the time"));
  r.account.quota_cores = 0.2;
  r.account.held_back_ns = 4 * kSecond;
  CHECK(has(lines_of(r), "Its control group may use 0.2 cores, and was held back for 4.0 s"));
  CHECK(present(std::array{r}).time.back().what == What::held_back);
  r.account.held_back_ns = 0;
  r.add({0, 0, Metric::runnable_ns}, 1, 3 * kSecond / 2);
  CHECK(has(lines_of(r), "In 75.0 % of the time in which threads could run"));
}

TEST_CASE("of a set it is told what its processes have in common", "[callpath][present][set]") {
  Recording r = set_recording();
  r.wall_ns = kSecond;
  r.account.cpu_ns = kSecond;
  r.account.unreadable_program = true;
  r.account.stopped_ns = kSecond / 4;
  r.account.halted_at_end = "stopped";
  CHECK(has(lines_of(r), "90.0 % of the CPU time is missing: the kernel counts 1.0 s"));
  CHECK(has(lines_of(r), "A process has executed a program"));
  CHECK(has(lines_of(r),
            "The processes were stopped by a signal (SIGSTOP) for 250 ms of the 1.0 s, "
            "and are so still; kill -CONT lets them go on."));
  r.account.tracer = 12;
  CHECK(
      has(lines_of(r), "stopped by their tracer, process 12, for 250 ms of the 1.0 s, and are so"));
  r.account.frozen_ns = kSecond;
  r.account.halted_at_end = "frozen";
  CHECK(has(lines_of(r),
            "The processes were frozen by their control group all the time (1.0 s), "
            "and are so still; thaw them."));
  r.account.held_back_ns = 4 * kSecond;
  CHECK(has(lines_of(r), "Their control group may use a limited share"));
}

TEST_CASE("the limits of a set are told as warnings", "[callpath][present][set]") {
  Recording r = set_recording();
  r.account.names_merged = 3;
  r.account.code_merged = 7;
  const std::vector<std::string> warnings = present(std::array{r}).warnings;
  CHECK(has(warnings, "threads had more than 256 names in a process, or 4096 in all"));
  CHECK(has(warnings,
            "the first 512 processes are told apart: 40 further ones count together "
            "by program, as \"as (others)\""));
  CHECK(has(warnings, "code in no file has more than 262144 places"));
  CHECK(has(warnings, "7 frames on others stand at [anonymous]"));
}

}  // namespace causalctl::callpath
