// Tests the reason that is given if nothing was found.
#include "controller/causal/analysis/silence.h"

#include <catch2/catch.hpp>
#include <string>

namespace causalctl::causal {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

// The function is never called, in a program that runs on one core.
Silence uncalled() {
  Silence silence;
  silence.point = "item_done";
  silence.code = {PointCode::Kind::function, "item_done", {{100, 200}}};
  silence.watched_ns = 5 * kSecond;
  silence.cpu_ns = 5 * kSecond;
  silence.lately_ns = silence.lately_cpu_ns = 3 * kSecond;
  silence.samples = 2000;
  silence.stacks = 64;
  return silence;
}

TEST_CASE("a point without visits is named, with the time that was waited", "[causal][silence]") {
  CHECK_THAT(describe(uncalled()), StartsWith("item_done: no visit in 5 s; "));
}

TEST_CASE("code that was never sampled does not run", "[causal][silence]") {
  CHECK_THAT(reason_of(uncalled()), Contains("never sampled either"));
}

TEST_CASE("a function that runs and is not entered does not return", "[causal][silence]") {
  Silence silence = uncalled();
  std::string seen;
  SECTION("by the samples in it") {
    silence.in_function = 1000;
    seen = "item_done has 50 % of the samples, but no visits";
  }
  SECTION("by the stacks that it is on") {
    silence.on_stack = 32;
    seen = "item_done is on 50 % of the stacks, but no visits";
  }
  CHECK_THAT(reason_of(silence), Contains(seen) && Contains("take a line in its loop"));
  silence.code.kind = PointCode::Kind::instruction;
  CHECK_THAT(reason_of(silence), Contains("take another line of it"));
}

TEST_CASE("inlined calls are named", "[causal][silence]") {
  Silence silence = uncalled();
  silence.inlined_at = {"inl.c:8", "inl.c:9"};
  CHECK_THAT(reason_of(silence), Contains("inlined") && Contains("take inl.c:8 or inl.c:9"));
}

TEST_CASE("a target that does not run is the first reason", "[causal][silence]") {
  Silence silence = uncalled();
  silence.inlined_at = {"inl.c:8"};
  silence.cpu_ns = kMillisecond;
  CHECK_THAT(reason_of(silence), Contains("used no CPU time: it waits; give it load"));
  silence.target.waits_for = "input on descriptor 0";
  CHECK_THAT(reason_of(silence), Contains("it waits for input on descriptor 0"));
  silence.target.frozen = true;
  CHECK_THAT(reason_of(silence), Contains("frozen"));
  silence.target.stopped = true;
  CHECK_THAT(reason_of(silence), Contains("stopped by a signal"));
}

TEST_CASE("of a program that is to end by itself only that it does not run is told",
          "[causal][silence]") {
  Silence silence = uncalled();
  silence.target.waits_for = "input on descriptor 0";
  CHECK_FALSE(describe_unended(silence).has_value());
  SECTION("it never ran") {
    silence.cpu_ns = silence.lately_cpu_ns = kMillisecond;
    CHECK(describe_unended(silence) ==
          "the program has not ended in 5 s; the target used no CPU time: it waits for input on "
          "descriptor 0; give it load");
  }
  SECTION("it ran at first") {
    silence.cpu_ns = kSecond;
    silence.lately_cpu_ns = kMillisecond;
    CHECK(describe_unended(silence) ==
          "the program has not ended in 5 s; the target used no CPU time in the last 3 s: it waits "
          "for input on descriptor 0; give it load");
    // Whether a point is visited under load is seen while there is load.
    CHECK_THAT(reason_of(silence), Contains("never sampled either"));
  }
  SECTION("it is stopped") {
    silence.target.stopped = true;
    CHECK_THAT(describe_unended(silence).value(), Contains("stopped by a signal"));
  }
  SECTION("it is frozen") {
    silence.target.frozen = true;
    CHECK_THAT(describe_unended(silence).value(), Contains("frozen"));
  }
}

TEST_CASE("system calls and sampled lines have reasons of their own", "[causal][silence]") {
  Silence silence = uncalled();
  silence.code.kind = PointCode::Kind::system_call;
  CHECK_THAT(reason_of(silence), Contains("no thread makes this system call"));
  silence.code.kind = PointCode::Kind::samples;
  CHECK_THAT(reason_of(silence), Contains("no sample fell in this line"));
}

Experiment counted(std::uint64_t first, std::uint64_t second) {
  Experiment experiment;
  experiment.throughput = {{"first", first, 0, 0}, {"second", second, 0, 0}};
  return experiment;
}

TEST_CASE("one visit of one point is a result", "[causal][silence]") {
  Run run;
  run.experiments = {counted(0, 0), counted(0, 1)};
  CHECK_FALSE(no_result(run).has_value());
  LatencyCount latency;
  latency.name = "request";
  latency.begins = 3;
  run.experiments = {{}};
  run.experiments[0].latency = {latency};
  CHECK_THAT(no_result(run).value().what, Contains("request was not visited"));
  run.experiments[0].latency[0].ends = 1;
  CHECK_FALSE(no_result(run).has_value());
}

TEST_CASE("a run without visits names the points", "[causal][silence]") {
  Run run;
  run.experiments = {counted(0, 0), counted(0, 0)};
  CHECK(no_result(run).value().what ==
        "no result: first, second were not visited in any experiment");
}

TEST_CASE("experiments that do not count are no result", "[causal][silence]") {
  Run run;
  run.experiments = {counted(5, 5)};
  run.experiments[0].discarded = "controller late by 80 ms";
  CHECK_THAT(no_result(run).value().what, Contains("all 1 experiments were discarded"));
}

TEST_CASE("a run without an experiment says why there is none", "[causal][silence]") {
  Run run;
  run.reason = EndReason::duration;
  CHECK_THAT(no_result(run).value().what, Contains("used no CPU time"));
  run.losses.samples_total = 700;
  // All wait for debug information.
  CHECK_THAT(no_result(run).value().what, Contains("it ended before the first experiment"));
  run.losses.samples_unknown = 349;
  CHECK_THAT(no_result(run).value().what, Contains("it ended before the first experiment"));
  run.losses.samples_unknown = 350;
  CHECK_THAT(no_result(run).value().what, Contains("none of 700 samples fell in code in scope"));
  run.samples = {{{"f", false, "f", "", 0}, 700, 0}};
  CHECK_THAT(no_result(run).value().what, Contains("it ended before the first experiment"));
  CHECK_THAT(no_result(run).value().hint, Contains("--duration"));
  run.reason = EndReason::interrupted;
  CHECK_THAT(no_result(run).value().what, Contains("it was interrupted before the first"));
}

}  // namespace
}  // namespace causalctl::causal
