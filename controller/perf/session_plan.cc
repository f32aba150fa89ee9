#include "controller/perf/session_plan.h"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "controller/base/error.h"
#include "controller/perf/event.h"

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

// An event of which we may only see what happens in user code is sampled there.
void plan_events(const SessionOptions& options, SessionPlan& session) {
  for (EventTemplate event : options.events) {
    std::string reason;
    const bool has_part = event.attr.type < PERF_TYPE_TRACEPOINT;
    if (has_part &&
        !permitted(event_attr(event, options.stack_bytes, 1), event.what.c_str(), reason)) {
      event.attr.exclude_kernel = 1;
      session.limits.reasons.push_back(
          fmt::format("{} in the kernel are not recorded: {}", event.what, reason));
    }
    session.threads.events.push_back(std::move(event));
  }
  if (!options.wakers || !session.threads.waking) return;
  EventTemplate wakes;
  wakes.attr.type = PERF_TYPE_TRACEPOINT;
  wakes.attr.config = session.waking.id;
  wakes.what = "sampling of wake-ups";
  wakes.wakes = true;
  wakes.first_every = 1;
  session.threads.events.push_back(std::move(wakes));
}

}  // namespace

SessionPlan plan_session(const SessionOptions& options) {
  SessionPlan session;
  auto& [plan, waking, limits] = session;
  std::string reason;
  plan.sampling = {.period_ns = options.period_ns,
                   .kernel_chain = options.kernel_chain,
                   .call_chain_depth = options.call_chain_depth,
                   .stack_bytes = options.stack_bytes};
  plan.sample = options.sampling;
  plan.peers = options.peers;
  plan.switches = options.sampling;
  const Trial* no_switches = find_vain(options.tried, Facility::switch_record);
  if (plan.switches && no_switches != nullptr) {
    plan.switches = plan.peers = false;
    // Only a session that follows wake-ups tells threads that wait from those that run.
    if (options.wake_edges) {
      limits.reasons.push_back("switches of threads are not recorded (" + no_switches->finding +
                               "): a thread that waits is taken to run");
    }
  }
  if (plan.sample && !permitted(sampling_attr(plan.sampling), "task-clock sampling", reason)) {
    plan.sampling.kernel = plan.sampling.kernel_chain = false;
    limits.reasons.push_back("time spent in the kernel is not sampled: " + reason);
  }
  if (plan.sample && options.leaving) {
    plan.leaving = permitted(leaving_attr(options.stack_bytes, 1, plan.sampling.kernel_chain),
                             "sampling of switches", reason);
    if (!plan.leaving) limits.reasons.push_back("where threads wait is not sampled: " + reason);
  }
  if (plan.sample && options.wake_edges) {
    const Trial* none_come = find_vain(options.tried, Facility::wake_up);
    const auto format = none_come != nullptr ? std::nullopt : find_waking_format(reason);
    if (none_come != nullptr) reason = none_come->finding;
    if (format) keep_one_open(*format);
    if (format && permitted(waking_attr(format->id), "tracepoint sched:sched_waking", reason)) {
      waking = *format;
      plan.waking = waking_attr(format->id);
    } else {
      limits.reasons.push_back("wake-ups are not recorded: " + reason);
    }
  }
  plan_events(options, session);
  limits.kernel_samples = plan.sampling.kernel;
  limits.wake_edges = plan.waking.has_value();
  return session;
}

}  // namespace causalctl::perf
