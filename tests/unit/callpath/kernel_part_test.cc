#include "controller/callpath/places/kernel_part.h"

#include <catch2/catch.hpp>
#include <string>

#include "controller/callpath/record/folded_kernel.h"

namespace causalctl::callpath {
namespace {

using Names = std::vector<std::string_view>;

Names part(const Names& names, bool leaves) {
  const auto told = telling_part(names, leaves);
  return {told.begin(), told.end()};
}

constexpr const char* kTable =
    "ffffffff81000000 T entry_SYSCALL_64_after_hwframe\n"
    "ffffffff81001000 T do_syscall_64\n"
    "ffffffff81002000 T __x64_sys_read\n"
    "ffffffff81003000 T schedule\n"
    "ffffffff81004000 T __schedule\n"
    "ffffffff81005000 T __traceiter_sched_switch\n";

std::vector<std::string> names_of(const Recording& recording, std::span<const LocationId> path) {
  std::vector<std::string> names;
  for (const LocationId id : path) {
    const Location& location = recording.locations.at(id);
    CHECK(recording.modules.at(location.module).path == kKernel);
    names.push_back(location.frames.at(0).function);
  }
  return names;
}

}  // namespace

TEST_CASE("The kernel's part begins behind the entry, and ends at the scheduler", "[callpath]") {
  const Names waits = {"bpf_prog_1",
                       "bpf_trace_run4",
                       "__traceiter_sched_switch",
                       "__schedule",
                       "schedule",
                       "do_nanosleep",
                       "",
                       "__x64_sys_sleep",
                       "x64_sys_call",
                       "do_syscall_64",
                       "entry_SYSCALL_64_after_hwframe"};
  CHECK(part(waits, true) ==
        Names{"__schedule", "schedule", "do_nanosleep", "", "__x64_sys_sleep"});
  CHECK(part({"clear_page", "exc_page_fault", "asm_exc_page_fault"}, false) ==
        Names{"clear_page", "exc_page_fault"});
  CHECK(part({"__schedule", "schedule"}, false) == Names{"__schedule", "schedule"});
  CHECK(part({"unusual"}, true) == Names{"unusual"});
  CHECK(part({"do_syscall_64", "entry_SYSCALL_64_after_hwframe"}, false).empty());
  CHECK(part({}, true).empty());
}

TEST_CASE("A kernel's function is one location", "[callpath]") {
  Recording recording;
  Places places(recording);
  KernelPart kernel(symbols::KernelSymbols::parse(kTable), places);
  CHECK(kernel.knows_functions());
  perf::SampleEvent sample;
  sample.kernel = {0xffffffff81002010, 0xffffffff81001010, 0xffffffff81000010};
  CHECK(names_of(recording, kernel.of(sample)) == std::vector<std::string>{"__x64_sys_read"});
  sample.reason = perf::SampleReason::leaving;
  // The second address returns to behind the end of the function that called.
  sample.kernel = {0xffffffff81005010, 0xffffffff81005000, 0xffffffff81003010, 0xffffffff81002020};
  const std::size_t before = recording.locations.size();
  CHECK(names_of(recording, kernel.of(sample)) ==
        std::vector<std::string>{"__x64_sys_read", "schedule", "__schedule"});
  CHECK(recording.locations.size() == before + 2);
  sample.kernel.clear();
  CHECK(kernel.of(sample).empty());
}

TEST_CASE("What the kernel's functions have is that of the code above once they are folded",
          "[callpath]") {
  Recording recording;
  recording.modules = {{"[anonymous]", ""}, {"/bin/prog", ""}, {kKernel, ""}};
  recording.locations = {{1, 0x10, true, {}},
                         {1, 0x20, false, {}},
                         {2, 0, false, {{"a", "", 0}}},
                         {2, 0, false, {{"b", "", 0}}}};
  CallTree& tree = recording.tree;
  const NodeId caller = tree.path(std::vector<LocationId>{0});
  const NodeId user = tree.path(std::vector<LocationId>{0, 1});
  const NodeId outer = tree.path(std::vector<LocationId>{0, 1, 2});
  const NodeId inner = tree.path(std::vector<LocationId>{0, 1, 2, 3});
  const NodeId thread = tree.path(std::vector<LocationId>{3});  // of the kernel's own
  const SliceKey cpu{0, 0, Metric::cpu_ns}, blocked{0, 0, Metric::blocked_ns};
  recording.slices[cpu] = {{caller, 1}, {user, 2}, {outer, 4}, {inner, 8}, {thread, 16}};
  recording.slices[blocked] = {{inner, 32}};
  recording.parts = {{0, 1, {{cpu, {{outer, 4}, {inner, 8}}}}}};
  recording.wakers[0] = {{{inner, caller}, 64}, {{user, caller}, 128}, {{user, inner}, 1}};
  REQUIRE(has_kernel_part(recording));
  CHECK(kernel_share(recording) == Approx(28.0 / 31));

  fold_kernel(recording);
  CHECK(recording.slices[cpu] == Slice{{caller, 1}, {user, 14}, {kRoot, 16}});
  CHECK(recording.slices[blocked] == Slice{{user, 32}});
  CHECK(recording.parts.at(0).slices[cpu] == Slice{{user, 12}});
  CHECK(recording.wakers[0] == std::map<std::pair<NodeId, NodeId>, std::uint64_t>{
                                   {{user, caller}, 192}, {{user, user}, 1}});
  CHECK(kernel_share(recording) == 0);
}

}  // namespace causalctl::callpath
