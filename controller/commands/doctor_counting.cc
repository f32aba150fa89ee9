#include "controller/commands/doctor_counting.h"

#include <fmt/format.h>
#include <linux/hw_breakpoint.h>
#include <unistd.h>

#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/procfs.h"
#include "controller/base/statistics.h"
#include "controller/perf/thread_events.h"
#include "controller/perf/trials.h"
#include "controller/progress/image.h"

namespace causalctl::commands {
namespace {

constexpr std::uint64_t kHits = 10;
constexpr int kMostRegisters = 16;

__attribute__((noinline, aligned(64))) void visited() { __asm__ volatile("nop"); }

perf_event_attr breakpoint_attr() {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_BREAKPOINT;
  attr.bp_type = HW_BREAKPOINT_X;
  attr.bp_addr = reinterpret_cast<Address>(&visited);
  attr.bp_len = sizeof(long);
  return perf::visit_attr(attr);
}

// `path` must live as long as the attr.
perf_event_attr uprobe_attr(std::string& path) {
  const auto text = procfs::read_text("/sys/bus/event_source/devices/uprobe/type");
  perf_event_attr attr{};
  if (!text ||
      std::from_chars(text->data(), text->data() + text->size(), attr.type).ec != std::errc{}) {
    throw Error("this kernel has no uprobe events", "Linux 4.17 with CONFIG_UPROBE_EVENTS");
  }
  const auto place = progress::file_place(getpid(), reinterpret_cast<Address>(&visited));
  if (!place) throw Error("our own executable cannot be reached");
  path = place->readable;
  attr.uprobe_path = reinterpret_cast<std::uint64_t>(path.c_str());
  attr.probe_offset = place->offset;
  return perf::visit_attr(attr);
}

std::optional<std::string> count_hits(const perf_event_attr& attr, const char* what,
                                      Nanoseconds& cost_ns) {
  constexpr std::uint32_t tag = 0;
  perf::ThreadPlan plan;
  plan.sample = plan.switches = plan.peers = false;
  plan.running = true;
  plan.ring_pages = 8;
  plan.visits = {{attr, tag, what, ""}};
  auto events = perf::ThreadEvents::open({gettid(), 1}, monotonic_now(), kMillisecond, plan);
  INVARIANT(events);
  std::vector<double> costs_ns;  // their median: a stall of the machine spoils one
  for (std::uint64_t i = 0; i < kHits; ++i) {
    const Nanoseconds start_ns = monotonic_now();
    visited();
    costs_ns.push_back(static_cast<double>(monotonic_now() - start_ns));
  }
  cost_ns = static_cast<Nanoseconds>(statistics::median(costs_ns));
  std::uint64_t recorded = 0;
  events->read([&](const perf::Record& record) {
    const auto* hit = std::get_if<perf::SampleRecord>(&record);
    if (hit != nullptr && events->visit_tag(*hit) == tag) ++recorded;
  });
  if (events->count(tag) != kHits || recorded != kHits) return std::nullopt;
  return fmt::format("{} of {} hits recorded, {:.1f} µs each", recorded, kHits,
                     static_cast<double>(cost_ns) / kMicrosecond);
}

template <typename MakeAttr>
Trial see(Facility facility, const char* what, MakeAttr&& make_attr) {
  Nanoseconds cost_ns = 0;
  Trial trial = perf::try_out(facility, "opened, but never fired",
                              [&] { return count_hits(make_attr(), what, cost_ns); });
  if (trial.is_seen()) trial.cost_ns = cost_ns;
  return trial;
}

}  // namespace

Trial see_breakpoint() {
  return see(Facility::breakpoint, "breakpoint on ourselves", breakpoint_attr);
}

Trial see_uprobe() {
  std::string path;
  return see(Facility::uprobe, "uprobe on ourselves", [&path] { return uprobe_attr(path); });
}

int free_debug_registers() {
  std::vector<perf::EventFd> events;
  try {
    while (events.size() < kMostRegisters) {
      auto event = perf::EventFd::open(breakpoint_attr(), 0, "breakpoint on ourselves");
      if (!event) break;
      events.push_back(std::move(*event));
    }
  } catch (const Error&) {  // none is left
  }
  return static_cast<int>(events.size());
}

}  // namespace causalctl::commands
