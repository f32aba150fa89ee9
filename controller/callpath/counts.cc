#include "controller/callpath/counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/perf/uprobe_visits.h"

namespace causalctl::callpath {

Counts::Counts(Pid target, const std::vector<WatchedEvent>& events, const perf::Session& session,
               Recording& recording)
    : events_(events), session_(session), recording_(recording) {
  for (std::uint32_t tag = 0; tag < events.size(); ++tag) {
    if (!events[tag].spec.counted) continue;
    functions_.emplace_back().tag = tag;
    FunctionCount& count = recording_.counts.emplace_back();
    count.event = events[tag].metric.name;
    count.function = events[tag].spec.name;
    count.cost_ns = events[tag].cost_ns;
    count.cost_of_all = events[tag].templates.empty();
  }
  if (functions_.empty()) return;
  std::string reason;
  uprobes_ = perf::make_uprobes(target, reason);
  for (const Function& function : functions_) {
    if (uprobes_ || !events[function.tag].templates.empty()) continue;
    throw Error(
        fmt::format("--count {}: no BPF program can count here ({}), and there are too many "
                    "threads and places for perf events",
                    events[function.tag].spec.name, reason),
        "give root's rights or CAP_BPF, or count in a process with fewer threads");
  }
  for (Function& function : functions_) arm(function);
}

// Each time the program gets another tag: the kernel takes a while to close uprobes, whose hits
// must not count twice.
void Counts::arm(Function& function) {
  if (!uprobes_) return;
  function.kernel_tag = next_kernel_tag_;
  if (++next_kernel_tag_ == perf::Uprobes::kMostCountedTags) {
    next_kernel_tag_ = perf::Uprobes::kMostTags;
  }
  std::vector<perf::UprobePlace> places = events_[function.tag].places;
  for (perf::UprobePlace& place : places) place.tag = function.kernel_tag;
  function.uprobes = uprobes_->open(places);
}

void Counts::start(Nanoseconds now_ns) {
  start_ns_ = now_ns;
  for (Function& function : functions_) {
    function.open_since_ns = now_ns;
    function.counted_before = counted(function);
  }
  if (uprobes_) uprobes_->start();
}

const Counts::Function* Counts::function_of(std::uint32_t tag) const {
  const auto found = std::find_if(functions_.begin(), functions_.end(),
                                  [tag](const Function& each) { return each.tag == tag; });
  return found == functions_.end() ? nullptr : &*found;
}

Counts::Function* Counts::function_of(std::uint32_t tag) {
  return const_cast<Function*>(std::as_const(*this).function_of(tag));
}

std::uint64_t Counts::counted(const Function& function) const {
  return uprobes_ ? uprobes_->count(function.kernel_tag) : session_.events_counted(function.tag);
}

void Counts::close(std::uint32_t tag) {
  Function* function = function_of(tag);
  if (function == nullptr || !function->open_since_ns) return;
  function->closed_calls += counted(*function) - function->counted_before;
  function->closed_ns += monotonic_now() - *std::exchange(function->open_since_ns, std::nullopt);
  closer_.close(std::exchange(function->uprobes, {}));
}

void Counts::open(std::uint32_t tag) {
  Function* function = function_of(tag);
  if (function == nullptr || function->open_since_ns) return;
  try {
    arm(*function);
  } catch (const Error&) {
    return;  // the process has ended
  }
  function->open_since_ns = monotonic_now();
  function->counted_before = counted(*function);
}

std::uint64_t Counts::calls(std::uint32_t tag) const {
  const Function* function = function_of(tag);
  if (function == nullptr) return 0;
  const bool is_open = function->open_since_ns.has_value();
  return function->closed_calls + (is_open ? counted(*function) - function->counted_before : 0);
}

void Counts::update(Nanoseconds now_ns, const std::vector<double>& cost_share) {
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    const Function& function = functions_[i];
    FunctionCount& count = recording_.counts[i];
    count.calls = calls(function.tag);
    count.wall_ns = now_ns - start_ns_;
    count.counted_ns =
        function.closed_ns + (function.open_since_ns ? now_ns - *function.open_since_ns : 0);
    count.cost_share = cost_share.at(function.tag);
    const bool all_seen = !thread_began_ && session_.losses().threads_missed == 0;
    if (uprobes_ || all_seen) continue;
    count.missing =
        "calls that threads make before causalctl sees them begin are missing, as no BPF program "
        "can count here, which needs root or CAP_BPF";
  }
}

}  // namespace causalctl::callpath
