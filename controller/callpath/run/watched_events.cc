#include "controller/callpath/run/watched_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "controller/base/error.h"
#include "controller/perf/uprobe_place.h"
#include "controller/progress/naming.h"
#include "controller/progress/progress.h"
#include "controller/progress/syscalls.h"
#include "controller/symbols/call_chain.h"
#include "unwind/names/names.h"

namespace causalctl::callpath {
namespace {

using Kind = EventSpec::Kind;

constexpr std::uint64_t kFirstCycles = 4'000'000;  // from one sample to the next
constexpr std::uint64_t kFewestCycles = 1'000'000;
constexpr std::size_t kEventSuggestions = 5;
// Of how many calls that are counted one is sampled at the beginning: few calls should have a path,
// and the samples of many should fit into the ring.
constexpr std::uint64_t kFirstCalls = 13;

perf::EventTemplate template_of(std::uint32_t type, std::uint64_t config, std::uint32_t tag,
                                const std::string& what) {
  perf::EventTemplate event;
  event.attr.type = type;
  event.attr.config = config;
  event.tag = tag;
  event.what = what;
  return event;
}

void watch_cycles(std::uint32_t tag, WatchedEvent& watched) {
  std::string reason;
  if (!perf::counts_cycles(reason)) {
    throw Error(fmt::format("--event cycles: {}", reason),
                "virtual machines often have no counters of the processor; --event cpu samples "
                "time in their place");
  }
  watched.templates = {template_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, tag, "cycles")};
  watched.templates[0].first_every = kFirstCycles;
  watched.templates[0].fewest_every = kFewestCycles;
  watched.metric = {"cycles", "cycles", "Cycles"};
}

void watch_call(Pid target, unwind::Symbolizer& symbolizer, std::uint32_t tag,
                WatchedEvent& watched) {
  const EventSpec& spec = watched.spec;
  // Tells what there is if there is no such call.
  (void)progress::resolve("syscall:" + spec.name, target, symbolizer);
  const std::string tracefs = progress::tracefs_of_calls().path;
  watched.metric = {spec.text, "calls", fmt::format("Calls of {}", spec.name)};
  if (!spec.bytes) {
    const auto id = progress::syscall_tracepoint(tracefs, spec.name);
    if (!id) throw Error(fmt::format("--event {}: the tracepoint is gone", spec.text));
    watched.templates = {template_of(PERF_TYPE_TRACEPOINT, *id, tag, spec.text)};
    return;
  }
  const auto result = progress::syscall_result(tracefs, spec.name);
  if (!result) {
    throw Error(
        fmt::format("--event {}: the kernel does not tell what {} returns", spec.text, spec.name),
        fmt::format("use --event syscall:{}, which counts the calls", spec.name));
  }
  watched.metric = {spec.text, "bytes", fmt::format("Bytes of {}", spec.name)};
  watched.templates = {template_of(PERF_TYPE_TRACEPOINT, result->id, tag, spec.text)};
  watched.templates[0].number_offset = result->offset;
}

bool is_function_here(const std::string& name, Pid target, unwind::Symbolizer& symbolizer) {
  try {
    (void)progress::resolve(name, target, symbolizer);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// "malloc:rdj" is read as a function rdj of a binary malloc, unless the user meant a register.
progress::Point resolve(const EventSpec& spec, Pid target, unwind::Symbolizer& symbolizer) {
  try {
    return progress::resolve(spec.name, target, symbolizer);
  } catch (const UsageError&) {
    const auto colon = spec.name.rfind(':');
    if (spec.counted || spec.argument || colon == std::string::npos || colon == 0 ||
        spec.name[colon - 1] == ':') {
      throw;
    }
    const std::string name = spec.name.substr(colon + 1);
    if (!is_function_here(spec.name.substr(0, colon), target, symbolizer)) throw;
    throw UsageError(
        fmt::format(
            "--event {}: no register is called {}{}", spec.text, name,
            progress::nearest_clause(unwind::nearest(name, register_names(), kEventSuggestions))),
        "the arguments of a function are in rdi, rsi, rdx, rcx, r8, r9; edi is the lower half of "
        "rdi");
  }
}

void watch_function(Pid target, unwind::Symbolizer& symbolizer, std::uint32_t tag,
                    WatchedEvent& watched) {
  const EventSpec& spec = watched.spec;
  const progress::Point point = resolve(spec, target, symbolizer);
  if (point.places.empty() || std::holds_alternative<progress::SampledSpec>(point.spec) ||
      std::holds_alternative<progress::UsdtSpec>(point.spec)) {
    throw UsageError(fmt::format("{}: not a place in code", spec.option()),
                     "name a function, FILE:LINE, or BINARY+0xOFFSET");
  }
  const progress::UprobePlan plan = progress::plan_uprobes(point, target, tag);
  for (const perf::UprobePlace& place : plan.places) {
    perf::EventTemplate event;
    event.attr = perf::uprobe_attr(place);
    event.place = place;
    event.tag = tag;
    event.what = "uprobe for " + spec.option();
    if (spec.counted) event.first_every = kFirstCalls;
    watched.templates.push_back(std::move(event));
  }
  watched.cost_ns = plan.visit_cost_ns;
  watched.remarks = point.remarks;
  watched.metric = {(spec.counted ? "count:" : "") + spec.text, "calls",
                    fmt::format("Calls of {}", spec.name)};
  if (!spec.argument) return;
  const std::string name = spec.text.substr(spec.text.rfind(':') + 1);
  watched.metric.unit = "sum";
  watched.metric.title = fmt::format("Sum of {} in calls of {}", name, spec.name);
}

}  // namespace

std::vector<WatchedEvent> watch_events(const std::vector<EventSpec>& specs, Pid target,
                                       unwind::Symbolizer& symbolizer) {
  std::vector<WatchedEvent> events;
  for (const EventSpec& spec : specs) {
    const auto tag = static_cast<std::uint32_t>(events.size());
    WatchedEvent& watched = events.emplace_back();
    watched.spec = spec;
    switch (spec.kind) {
      case Kind::page_faults:
        watched.metric = {spec.text, "faults", "Page faults"};
        watched.templates = {
            template_of(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, tag, "page faults")};
        break;
      case Kind::cycles:
        watch_cycles(tag, watched);
        break;
      case Kind::system_call:
        watch_call(target, symbolizer, tag, watched);
        break;
      case Kind::function:
        watch_function(target, symbolizer, tag, watched);
        break;
    }
  }
  return events;
}

std::uint64_t amount_of(const WatchedEvent& event, const perf::SampleEvent& sample) {
  std::int64_t each = 1;
  if (event.spec.bytes) each = sample.number;
  if (event.spec.argument) {
    const std::uint64_t value = symbols::registers_of(sample.user).values[event.spec.argument->bit];
    each = static_cast<std::int64_t>(event.spec.argument->bits == 32 ? value & UINT32_MAX : value);
  }
  std::uint64_t sum = 0;
  if (each <= 0) return 0;
  const bool overflows =
      __builtin_mul_overflow(static_cast<std::uint64_t>(each), sample.events, &sum);
  return overflows ? UINT64_MAX : sum;
}

}  // namespace causalctl::callpath
