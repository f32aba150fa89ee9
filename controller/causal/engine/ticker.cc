#include "controller/causal/engine/ticker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "controller/causal/engine/sampling_limit.h"
#include "controller/causal/engine/unit_of.h"

namespace causalctl::causal {
namespace {

constexpr Nanoseconds kTooLate = 50 * kMillisecond;  // the machine stalled
constexpr Nanoseconds kDrawEvery = 50 * kMillisecond;

}  // namespace

void Ticker::step() {
  worst_late_ns_ = std::max(worst_late_ns_, stream_.step().late_ns);
  if (!lines_checked_) {
    if (const auto lines = parts_.attribution.lines()) {
      lines_checked_ = true;
      if (auto warning = missing_lines(*lines, scope_)) warnings_.push_back(std::move(*warning));
    }
  }
  const Nanoseconds now_ns = parts_.clock.now();
  if (now_ns - drawn_at_ns_ > kDrawEvery) {
    parts_.session.jitter();
    drawn_at_ns_ = now_ns;
  }
}

void Ticker::begin_experiment() {
  worst_late_ns_ = 0;
  cpu_before_ns_ = stream_.cpu_time_ns();
  unsampled_before_ns_ = parts_.session.losses().unsampled_ns;
}

void Ticker::judge(Experiment& experiment) const {
  if (worst_late_ns_ > kTooLate) {
    experiment.discarded = fmt::format("controller late by {} ms", worst_late_ns_ / kMillisecond);
  } else if (experiment.lost_records > 0) {
    experiment.discarded = fmt::format("{} records lost", experiment.lost_records);
  } else {
    experiment.discarded =
        too_little_sampled(stream_.cpu_time_ns() - cpu_before_ns_,
                           parts_.session.losses().unsampled_ns - unsampled_before_ns_);
  }
}

void add_totals(const StreamParts& parts, Nanoseconds cpu_start_ns, Run& run) {
  run.overhead.controller_cpu_share = static_cast<double>(process_cpu_now() - cpu_start_ns) /
                                      static_cast<double>(std::max<Nanoseconds>(run.wall_ns, 1));
  run.losses.records_lost = parts.session.losses().records_lost;
  run.losses.throttles = parts.session.losses().throttles;
  run.losses.stacks_copied_in_part = parts.session.losses().stacks_truncated;
  run.losses.stacks_truncated = parts.attribution.stacks_cut_off();
  run.losses.samples_unknown = parts.attribution.unknown();
  run.losses.samples_total = parts.attribution.total();
  run.peers = parts.session.peers();
}

}  // namespace causalctl::causal
