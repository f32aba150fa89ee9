// Tests which instructions the time of a function is charged to, and which function a name means.
#include "controller/continuous/analysis/function_profile.h"

#include <catch2/catch.hpp>

#include "controller/base/error.h"
#include "controller/continuous/analysis/executions.h"
#include "controller/continuous/analysis/function_choice.h"
#include "tests/unit/disasm/made_code.h"

namespace causalctl::continuous {
namespace {

using disasm::kFirst;
using disasm::MadeCode;

Count samples_of(std::uint64_t number) {
  return {number, static_cast<Nanoseconds>(number) * kMillisecond};
}

// 0 add · 1 add · 2 add · 3 jne 1 · 4 ret: a loop of three instructions, which is block 1.
disasm::Graph loop() { return MadeCode().add().add().add().branch(1).ret().graph(); }

// The loop runs 10 times in each of 5 calls.
ExactCounts loop_counts() {
  return {{{kFirst, 5}, {kFirst + 1, 50}, {kFirst + 2, 50}, {kFirst + 3, 50}, {kFirst + 4, 5}},
          {{{kFirst + 3, kFirst + 1}, 45}}};
}

std::vector<double> charged_ms(const FunctionProfile& profile) {
  std::vector<double> times;
  for (const InstructionProfile& each : profile.instructions) {
    times.push_back(each.time_ns / kMillisecond);
  }
  return times;
}

}  // namespace

TEST_CASE("A sample's time is that of the instruction before, along the edges to a block",
          "[continuous]") {
  const ExactCounts counts = loop_counts();
  const Counts places = {{kFirst, samples_of(4)},
                         {kFirst + 1, samples_of(100)},
                         {kFirst + 2, samples_of(7)},
                         {kFirst + 4, samples_of(3)}};
  const FunctionProfile profile = profile_of(loop(), places, &counts);
  // 100 stand at the loop's head: it is entered 5 times from 0, and 45 times from 3. The first
  // instruction has no other before it here.
  CHECK(charged_ms(profile) == std::vector<double>{4 + 10, 7, 0, 90 + 3, 0});
  CHECK(profile.instructions[1].found == samples_of(100));
  CHECK(profile.found == samples_of(114));
  CHECK(profile.is_counted);
  CHECK(profile.calls == 5);
  CHECK(profile.blocks[1].executions == 50);
  // From 0 to 1, from 1 to itself and to 2, from 2 to outside, and from there to 0.
  CHECK(profile.passes == std::vector<double>{5, 45, 5, 5, 5});
  CHECK(profile.blocks[1].time_ns == Approx(100.0 * kMillisecond));
  CHECK(profile.never_executed_ns == 0);
}

TEST_CASE("Without counts the time at a loop's head is mostly that of its end", "[continuous]") {
  const FunctionProfile profile =
      profile_of(loop(), {{kFirst + 1, samples_of(100)}, {kFirst + 2, samples_of(90)}}, nullptr);
  CHECK_FALSE(profile.is_counted);
  const auto times = charged_ms(profile);
  CHECK(times[1] == Approx(90));
  CHECK(times[3] > 80);
  CHECK(times[0] + times[3] == Approx(100));
}

TEST_CASE("Time in code that the counted run has not executed is told", "[continuous]") {
  // 0 jne 2 · 1 add · 2 ret
  const ExactCounts counts = {{{kFirst, 8}, {kFirst + 2, 8}}, {{{kFirst, kFirst + 2}, 8}}};
  const FunctionProfile profile =
      profile_of(MadeCode().branch(2).add().ret().graph(),
                 {{kFirst + 1, samples_of(3)}, {kFirst + 2, samples_of(5)}}, &counts);
  CHECK(profile.never_executed_ns == 3 * kMillisecond);
  CHECK(profile.calls == 8);
  // Places of other functions do not belong to it.
  CHECK(profile_of(loop(), {{kFirst - 1, samples_of(3)}, {kFirst + 5, samples_of(5)}}, nullptr)
            .found == Count{});
}

TEST_CASE("A repeated instruction keeps its samples and is one execution", "[continuous]") {
  disasm::Graph graph = MadeCode().add().add().ret().graph();
  graph.code[1].mnemonic = "rep movsb";
  const ExactCounts counts = {{{kFirst, 2}, {kFirst + 1, 900}, {kFirst + 2, 2}},
                              {{{kFirst + 1, kFirst + 1}, 898}}};
  const FunctionProfile profile = profile_of(graph, {{kFirst + 1, samples_of(6)}}, &counts);
  CHECK(charged_ms(profile) == std::vector<double>{0, 6, 0});
  CHECK(executions_of(counts, graph.code[1]) == 2);
}

TEST_CASE("A function is chosen by its name, with its file where several have it", "[continuous]") {
  const Image program = {ImageKind::file, "/usr/bin/server", "ab"};
  const Image library = {ImageKind::file, "/lib/libz.so.1", "cd"};
  Profile profile;
  profile[{program, "cpu", "day"}] = {{0x10, samples_of(3)}, {0x30, samples_of(1)}};
  profile[{program, "cpu", "night"}] = {{0x10, samples_of(4)}, {0x12, samples_of(2)}};
  profile[{library}] = {{0x10, samples_of(5)}};
  profile[{library, "other"}] = {{0x50, samples_of(5)}};
  const auto names = [&](const Image& image, Address offset) -> FunctionAt {
    if (offset >= 0x50) return {"unsampled", 0x50, 0x60};
    if (offset >= 0x30) return {"ns::run(int)", 0x30, 0x40};
    return {"deflate", offset / 0x20 * 0x20, image.path.size() + 0x20};
  };
  const ChosenFunction chosen = choose_function(profile, "cpu", "server:deflate", names);
  CHECK(chosen.image == program);
  CHECK(chosen.places == Counts{{0x10, samples_of(7)}, {0x12, samples_of(2)}});
  CHECK(choose_function(profile, "cpu", "libz.so.1:deflate", names).image == library);
  CHECK(choose_function(profile, "cpu", "ns::run", names).name == "ns::run(int)");
  CHECK(choose_function(profile, "cpu", "server:ns::run", names).name == "ns::run(int)");
  CHECK(choose_function(profile, "cpu", "ns::run(int)", names).name == "ns::run(int)");
  for (const char* wrong : {"deflate", "unsampled", "ns", "libz.so.1:ns::run", ""}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(choose_function(profile, "cpu", wrong, names), UsageError);
  }
}

}  // namespace causalctl::continuous
