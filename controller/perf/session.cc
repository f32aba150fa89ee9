#include "controller/perf/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/procfs.h"
#include "controller/perf/follower.h"

namespace causalctl::perf {
namespace {

// Whether we ourselves may open `attr`, apart from the question whose thread it is for.
bool permitted(const perf_event_attr& attr, const char* what, std::string& reason) {
  try {
    return EventFd::open(attr, 0, what).has_value();
  } catch (const Error& error) {
    if (error.error_number() != EACCES && error.error_number() != EPERM) throw;
    reason = error.hint();
    return false;
  }
}

// Whether `facility` was tried on ourselves and never fired.
bool in_vain(const SessionOptions& options, Facility facility, std::string& reason) {
  const auto trial =
      std::find_if(options.tried.begin(), options.tried.end(), [&](const Trial& each) {
        return each.facility == facility && each.outcome == Outcome::never_fired;
      });
  if (trial == options.tried.end()) return false;
  reason = trial->finding;
  return true;
}

struct Decision {
  ThreadPlan plan;
  WakingFormat waking;
  SessionLimits limits;
};

// Takes back those of the options that the kernel does not let us have.
Decision decide(const SessionOptions& options) {
  Decision decision;
  auto& [plan, waking, limits] = decision;
  std::string reason;
  plan.sampling = {.period_ns = options.period_ns,
                   .kernel = options.kernel_samples,
                   .call_chain_depth = options.call_chain_depth,
                   .stack_bytes = options.stack_bytes};
  plan.sample = options.sampling;
  plan.peers = options.peers;
  plan.switches = options.sampling;
  if (plan.switches && in_vain(options, Facility::switch_record, reason)) {
    plan.switches = plan.peers = false;
    limits.reasons.push_back("switches of threads are not recorded (" + reason +
                             "): a thread that waits is taken to run");
  }
  if (plan.sample && plan.sampling.kernel &&
      !permitted(sampling_attr(plan.sampling), "task-clock sampling", reason)) {
    plan.sampling.kernel = false;
    limits.reasons.push_back("time spent in the kernel is not sampled: " + reason);
  }
  if (plan.sample && options.wake_edges) {
    const bool none_come = in_vain(options, Facility::wake_up, reason);
    const auto format = none_come ? std::nullopt : find_waking_format(reason);
    if (format && permitted(waking_attr(format->id), "tracepoint sched:sched_waking", reason)) {
      waking = *format;
      plan.waking = waking_attr(format->id);
    } else {
      limits.reasons.push_back("wake edges are not recorded: " + reason);
    }
  }
  limits.kernel_samples = plan.sampling.kernel;
  limits.wake_edges = plan.waking.has_value();
  return decision;
}

}  // namespace

struct Session::Impl {
  Impl(Pid target, const SessionOptions& options, Decision decision)
      : limits(std::move(decision.limits)),
        follower(target, std::move(decision.plan), decision.waking, options.seed, options.ours) {}

  SessionLimits limits;
  Follower follower;
};

Session::Session(Pid target, const SessionOptions& options)
    : impl_(std::make_unique<Impl>(target, options, decide(options))) {
  impl_->follower.open_all();
}

Session::~Session() = default;

void Session::add(const std::vector<VisitTemplate>& visits) { impl_->follower.add(visits); }

void Session::add_uprobes(const std::vector<UprobePlace>& places, const std::string& what) {
  impl_->follower.add_uprobes(places, what);
}

void Session::start() { impl_->follower.start(); }
void Session::enable_sampling(bool on) { impl_->follower.enable_sampling(on); }

void Session::set_period(Nanoseconds period_ns) {
  INVARIANT(period_ns > 0);
  impl_->follower.set_period(period_ns);
}

void Session::set_stack_bytes(unsigned bytes) {
  INVARIANT(bytes % 8 == 0);
  impl_->follower.set_stack_bytes(bytes);
}

void Session::jitter() { impl_->follower.jitter(); }

std::vector<Event> Session::drain(Nanoseconds now_ns) {
  auto events = impl_->follower.drain(now_ns);
  const auto add = [this](const std::vector<std::string>& found) {
    auto& reasons = impl_->limits.reasons;
    for (const auto& reason : found) {
      if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end()) {
        reasons.push_back(reason);
      }
    }
  };
  add(impl_->follower.reasons());
  add(impl_->follower.peers().reasons());
  return events;
}

std::uint64_t Session::count(std::uint32_t tag) const { return impl_->follower.count(tag); }
bool Session::target_alive() const { return impl_->follower.alive(); }
std::vector<ThreadId> Session::threads() const { return impl_->follower.threads(); }
const SessionLimits& Session::limits() const { return impl_->limits; }
SessionLosses Session::losses() const { return impl_->follower.losses(); }
std::optional<std::uint64_t> Session::sample_rate_limit() const {
  const auto limit = procfs::read_number("/proc/sys/kernel/perf_event_max_sample_rate");
  return limit && *limit >= 0 ? std::optional(static_cast<std::uint64_t>(*limit)) : std::nullopt;
}

std::vector<std::string> Session::peers() const { return impl_->follower.peers().names(); }

}  // namespace causalctl::perf
