// The part of a session that samples by the clocks of cores.
#include <fmt/format.h>

#include <variant>

#include "controller/base/error.h"
#include "controller/perf/session.h"
#include "controller/perf/translate.h"

namespace causalctl::perf {

void Session::open_cores(std::uint64_t seed) {
  try {
    cores_.emplace(target_, plan_.sampling, may_lock_, seed);
  } catch (const Error& error) {  // the target is in another pid namespace, or a limit is reached
    plan_.by_core = false;
    limits_.add(
        fmt::format("each thread is sampled by a clock of its own, at least for a while, "
                    "which slows down a program that switches often: {}",
                    error.what()));
  }
}

void Session::reopen_cores() {
  read_cores();  // as with the rings of threads
  cores_.reset();
  open_cores(random_());
  if (cores_ && plan_.running && plan_.sampling_on) cores_->enable(true);
}

// Before ended threads are forgotten. What a thread did before it was watched is missing.
void Session::read_cores() {
  const auto use = [this](const SampleRecord& record, Nanoseconds period_ns) {
    const auto thread = threads_.find(record.common.tid);
    if (thread == threads_.end() || record.common.time_ns < thread->second.opened_ns()) return;
    auto sample = to_sample_event(record, thread->second.thread(), period_ns, kUserRegisters);
    if (sample.user.truncated) ++losses_.stacks_copied_in_part;
    merger_.push(std::move(sample));
  };
  losses_.records_lost += cores_->read(use, [this](const Record& record) {
    if (const auto* lost = std::get_if<LostRecord>(&record)) losses_.records_lost += lost->count;
    if (const auto* throttle = std::get_if<ThrottleRecord>(&record)) {
      losses_.throttles += throttle->on ? 1 : 0;
    }
  });
}

}  // namespace causalctl::perf
