#include "controller/callpath/run/counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/process_clock.h"

namespace causalctl::callpath {

Counts::Counts(Pid target, const std::vector<WatchedEvent>& events, const perf::Session& session,
               Recording& recording)
    : target_(target), events_(events), session_(session), recording_(recording) {
  for (std::uint32_t tag = 0; tag < events.size(); ++tag) {
    if (!events[tag].spec.counted) continue;
    functions_.emplace_back().tag = tag;
    FunctionCount& count = recording_.counts.emplace_back();
    count.event = events[tag].metric.name;
    count.function = events[tag].spec.name;
    count.cost_ns = events[tag].cost_ns;
  }
}

void Counts::start(Nanoseconds now_ns) {
  start_ns_ = now_ns;
  for (Function& function : functions_) {
    function.stratum_ns = now_ns;
    function.piece_ns = now_ns;
    function.calls_before = session_.events_counted(function.tag);
    function.cpu_before_ns = process_cpu_of(target_).value_or(0);
  }
}

const Counts::Function* Counts::function_of(std::uint32_t tag) const {
  const auto found = std::find_if(functions_.begin(), functions_.end(),
                                  [tag](const Function& each) { return each.tag == tag; });
  return found == functions_.end() ? nullptr : &*found;
}

Counts::Function* Counts::function_of(std::uint32_t tag) {
  return const_cast<Function*>(std::as_const(*this).function_of(tag));
}

void Counts::take(std::uint32_t tag, const Thinning::Step& step) {
  Function* function = function_of(tag);
  if (function == nullptr) return;
  const Nanoseconds now_ns = monotonic_now();
  const std::uint64_t all = session_.events_counted(tag);
  if (step.ended && function->piece_ns) {
    const Nanoseconds end_ns = now_ns + step.rest_ns;
    const Nanoseconds piece_ns = now_ns - *std::exchange(function->piece_ns, std::nullopt);
    const Nanoseconds stratum_ns = end_ns - std::exchange(function->stratum_ns, end_ns);
    if (piece_ns > 0) {
      const std::uint64_t calls = all - function->calls_before;
      function->strata.add({calls, piece_ns, std::max(piece_ns, stratum_ns),
                            std::max(step.cost_share, cost_share(*function, calls))});
    }
  }
  if (step.began) {
    function->piece_ns = now_ns;
    function->calls_before = all;
    function->cpu_before_ns = process_cpu_of(target_).value_or(0);
  }
}

// On a busy machine threads are on a core for a part of a piece only, and traps take that much more
// of what they do.
double Counts::cost_share(const Function& function, std::uint64_t calls) const {
  const auto now_ns = process_cpu_of(target_);
  if (calls == 0 || !now_ns || *now_ns <= function.cpu_before_ns) return 0;
  const double cost_ns =
      static_cast<double>(calls) * static_cast<double>(events_[function.tag].cost_ns);
  return cost_ns / static_cast<double>(*now_ns - function.cpu_before_ns);
}

// A piece that goes on is one of a shorter stratum, if it is long enough to tell anything; of any
// length if it is all of its stratum.
void Counts::write(const Function& function, Nanoseconds now_ns, FunctionCount& count) const {
  Strata strata = function.strata;
  Nanoseconds since_ns = function.stratum_ns;
  const Nanoseconds piece_ns = function.piece_ns ? now_ns - *function.piece_ns : 0;
  const bool is_all = function.piece_ns && *function.piece_ns <= function.stratum_ns;
  if (piece_ns > 0 && (is_all || piece_ns >= Thinning::kPiece / 2)) {
    strata.add({session_.events_counted(function.tag) - function.calls_before, piece_ns,
                std::max(piece_ns, now_ns - since_ns), count.cost_share});
    since_ns = now_ns;
  }
  const Strata::Gaps gaps = strata.in_gaps(now_ns - since_ns);
  count.calls = strata.calls();
  count.counted_ns = strata.piece_ns();
  count.in_gaps = gaps.calls;
  count.least_in_gaps = gaps.least;
  count.most_in_gaps = gaps.most;
}

void Counts::update(Nanoseconds now_ns, const std::vector<double>& cost_share) {
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    const Function& function = functions_[i];
    FunctionCount& count = recording_.counts[i];
    count.wall_ns = now_ns - start_ns_;
    count.cost_share = cost_share.at(function.tag);
    write(function, now_ns, count);
    const bool all_seen = !thread_began_ && session_.losses().threads_missed == 0;
    if (session_.counts_all_threads(function.tag) || all_seen) continue;
    count.missing =
        "calls that threads make before causalctl sees them begin are missing, as no BPF program "
        "can count here, which needs root or CAP_BPF";
  }
}

}  // namespace causalctl::callpath
