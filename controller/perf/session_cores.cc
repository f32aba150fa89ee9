// The part of a session that samples by the clocks of cores.
#include <fmt/format.h>

#include <utility>
#include <variant>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/perf/bpf_numbers.h"
#include "controller/perf/session.h"
#include "controller/perf/translate.h"

namespace causalctl::perf {

void Session::use_cores() {
  if (const auto why_not = why_no_core_sampling()) return use_threads(*why_not);
  plan_.by_core = true;
  reopen_sampling();  // before, so that nothing is sampled twice
  open_cores();
  if (cores_) log::verbose("threads switch often: they are sampled by the clocks of the cores");
}

void Session::use_threads(const std::string& why) {
  clocks_ = Clocks::threads;
  limits_.add(fmt::format(
      "each thread is sampled by a clock of its own, which slows down a program that switches "
      "often (by clocks of the cores: {})",
      why));
}

void Session::open_cores() {
  try {
    for (const Pid process : set_->present()) (void)namespace_of_numbers(process);
    const auto program =
        copies_interrupted() ? std::optional(interrupted_->program_of_core()) : std::nullopt;
    cores_.emplace(*process_bits(), plan_.sampling, lockable_pages_, random_(), program);
    if (plan_.running && plan_.sampling_on) cores_->enable(true);
  } catch (const Error& error) {  // the target is in another pid namespace, or a limit is reached
    leave_cores(error.hint().empty() ? error.what() : error.hint());
  }
}

void Session::leave_cores(const std::string& why) {
  if (cores_) {
    cores_->enable(false);
    read_cores();
    cores_.reset();
  }
  plan_.by_core = false;
  reopen_sampling();
  use_threads(why);
}

// How long a core's clock was stopped is known, but not which threads ran meanwhile; of its own
// clock a thread knows (throttling.h).
void Session::leave_cores_if_throttled() {
  if (cores_ && cores_were_throttled_) {
    leave_cores("the kernel took no samples for a while, see kernel.perf_event_max_sample_rate");
  }
}

void Session::reopen_cores() {
  cores_->enable(false);
  read_cores();  // as with the rings of threads
  cores_.reset();
  open_cores();
}

void Session::choose_clocks() {
  const Nanoseconds now_ns = monotonic_now();
  const Nanoseconds passed_ns = now_ns - std::exchange(counted_since_ns_, now_ns);
  const auto switches = static_cast<double>(std::exchange(switches_in_, 0));
  if (clocks_ != Clocks::cheaper || cores_ || passed_ns <= 0) return;
  const double a_second = switches * kSecond / static_cast<double>(passed_ns);
  if (core_sampling_pays(a_second, period_at_start_ns_)) use_cores();
}

// Samples of threads that are not known yet wait until they are.
void Session::read_cores() {
  const auto use = [this](const SampleRecord& record, Nanoseconds period_ns) {
    take_sample(to_sample_event(record, {record.common.tid, 0}, period_ns, kUserRegisters));
  };
  losses_.records_lost += cores_->read(use, [this](const Record& record) {
    if (const auto* lost = std::get_if<LostRecord>(&record)) losses_.records_lost += lost->count;
    if (const auto* throttle = std::get_if<ThrottleRecord>(&record)) {
      losses_.throttles += throttle->on ? 1 : 0;
      cores_were_throttled_ = true;
    }
  });
}

// What a thread did before its switches were known is left out.
bool Session::give_if_known(SampleEvent& event) {
  const auto thread = threads_.find(event.thread.tid);
  if (thread == threads_.end()) return false;
  const ThreadEvents& events = thread->second;
  if (events.exit_seen() && event.time_ns > events.exited_ns()) return false;
  event.thread = events.thread();
  const bool from_birth = plan_.by_scheduler || event.reason == SampleReason::event;
  if (event.time_ns < (from_birth ? events.since_ns() : events.opened_ns())) return true;
  give_sample(std::move(event));
  return true;
}

void Session::take_sample(SampleEvent event) {
  if (give_if_known(event)) return;
  const Tid tid = event.thread.tid;
  const Nanoseconds time_ns = event.time_ns;
  early_samples_.keep(tid, time_ns, std::move(event));
}

}  // namespace causalctl::perf
