#include "controller/continuous/collect/visits.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "controller/base/error.h"
#include "controller/perf/uprobe_visits.h"
#include "controller/progress/progress.h"
#include "controller/progress/syscalls.h"
#include "controller/progress/usdt.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::continuous {
namespace {

constexpr std::uint32_t kCountedInKernel = perf::Uprobes::kMostTags;
constexpr double kMostShare = 0.02;  // of a core, for one point

perf::Uprobes counter_of_call(const std::string& spec, const std::string& call, Pid process,
                              const std::shared_ptr<perf::ProcessBits>& set) {
  const auto id = progress::syscall_tracepoint(progress::tracefs_of_calls().path, call);
  if (!id) throw UsageError(fmt::format("--progress {}: no such system call", spec));
  perf::Uprobes counter(process, perf::Uprobes::Means::none, {}, process == 0 ? set : nullptr);
  counter.add_call(*id, kCountedInKernel);
  return counter;
}

std::vector<std::uint64_t> semaphores_of(const progress::Point& point, Pid process) {
  const auto* probe = std::get_if<progress::UsdtSpec>(&point.spec);
  if (probe == nullptr) return {};
  const auto sites = progress::usdt_sites(process);
  std::vector<std::uint64_t> semaphores;
  for (const unwind::Place& place : point.places) {
    const auto site = std::find_if(sites.begin(), sites.end(), [&](const auto& each) {
      return each.address == place.address && each.provider == probe->provider &&
             each.name == probe->name;
    });
    semaphores.push_back(site == sites.end() ? 0 : site->semaphore_offset);
  }
  return semaphores;
}

perf::Uprobes counter_of_code(const progress::Point& point, Pid process, Nanoseconds& cost_ns) {
  auto plan =
      progress::plan_uprobes(point, process, kCountedInKernel, semaphores_of(point, process));
  std::string reason;
  auto counter = perf::make_uprobes(process, reason);
  if (!counter) throw Error("no BPF program can count visits here: " + reason);
  counter->add(plan.places);
  cost_ns = plan.visit_cost_ns;
  return std::move(*counter);
}

}  // namespace

Visits::Visits(const std::vector<std::string>& specs, Pid process,
               const std::shared_ptr<perf::ProcessBits>& set) {
  std::optional<unwind::Symbolizer> symbolizer;
  for (const std::string& text : specs) {
    Counted& counted = counted_.emplace_back();
    counted.point = text;
    const progress::Spec spec = progress::parse_spec(text);
    if (const auto* call = std::get_if<progress::SyscallSpec>(&spec)) {
      counted.counter = counter_of_call(text, call->name, process, set);
      continue;
    }
    if (std::holds_alternative<progress::SampledSpec>(spec)) {
      throw UsageError(fmt::format("--progress {}: samples are what is recorded anyway", text),
                       "name code, a USDT probe or a system call");
    }
    if (process == 0) {
      throw UsageError(fmt::format("--progress {}: code is counted in one process", text),
                       "give one PID, or a system call, as syscall:sendto");
    }
    if (!symbolizer) symbolizer.emplace(process);
    const progress::Point point = progress::resolve(text, process, *symbolizer);
    counted.counter = counter_of_code(point, process, counted.cost_ns);
  }
}

void Visits::start() {
  for (Counted& each : counted_) each.counter->start();
}

std::map<std::string, std::uint64_t> Visits::take() {
  std::map<std::string, std::uint64_t> visits;
  for (Counted& each : counted_) {
    if (!each.counter) continue;
    const std::uint64_t now = each.counter->count(kCountedInKernel);
    visits[each.point] += now - std::exchange(each.taken, now);
  }
  return visits;
}

std::vector<std::string> Visits::find_dear_ones(Nanoseconds now_ns) {
  std::vector<std::string> sentences;
  const Nanoseconds length_ns = now_ns - looked_ns_;
  if (length_ns < kSecond) return sentences;
  const bool is_first = std::exchange(looked_ns_, now_ns) == 0;
  for (Counted& each : counted_) {
    if (!each.counter || each.cost_ns == 0) continue;
    const std::uint64_t now = each.counter->count(kCountedInKernel);
    const std::uint64_t visits = now - std::exchange(each.looked, now);
    const double share = static_cast<double>(visits) * static_cast<double>(each.cost_ns) /
                         static_cast<double>(length_ns);
    if (is_first || share <= kMostShare) continue;
    each.is_dear = true;
    sentences.push_back(
        fmt::format("{} was passed {} times in {:.1f} s, and each visit costs {:.1f} µs: it is not "
                    "counted any more, and a new epoch begins",
                    each.point, visits, static_cast<double>(length_ns) / kSecond,
                    static_cast<double>(each.cost_ns) / kMicrosecond));
  }
  return sentences;
}

void Visits::end_dear_ones() {
  for (Counted& each : counted_) {
    if (each.is_dear) each.counter.reset();
  }
}

}  // namespace causalctl::continuous
