#include "controller/causal/engine/judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "controller/causal/engine/sampling_limit.h"

namespace causalctl::causal {
namespace {

constexpr Nanoseconds kTooLate = 50 * kMillisecond;  // a controller this late means a stall

}  // namespace

void Judge::begin(Nanoseconds cpu_ns) {
  worst_late_ns_ = 0;
  cpu_before_ns_ = cpu_ns;
  unsampled_before_ns_ = session_.losses().unsampled_ns;
}

std::string Judge::verdict(Nanoseconds cpu_ns, std::uint64_t lost_records) const {
  if (worst_late_ns_ > kTooLate) {
    return fmt::format("controller late by {} ms", worst_late_ns_ / kMillisecond);
  }
  if (lost_records > 0) return fmt::format("{} records lost", lost_records);
  return too_little_sampled(cpu_ns - cpu_before_ns_,
                            session_.losses().unsampled_ns - unsampled_before_ns_);
}

void add_totals(const EngineParts& parts, Nanoseconds cpu_start_ns, Run& run) {
  run.overhead.controller_cpu_share = static_cast<double>(process_cpu_now() - cpu_start_ns) /
                                      static_cast<double>(std::max<Nanoseconds>(run.wall_ns, 1));
  run.losses.records_lost = parts.session.losses().records_lost;
  run.losses.throttles = parts.session.losses().throttles;
  run.losses.stacks_copied_in_part = parts.session.losses().stacks_copied_in_part;
  run.losses.stacks_truncated = parts.attribution.stacks_cut_off();
  run.losses.samples_unknown = parts.attribution.unknown();
  run.losses.samples_total = parts.attribution.total();
  run.peers = parts.session.peers();
}

}  // namespace causalctl::causal
