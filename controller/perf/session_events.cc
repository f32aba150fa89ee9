// What the session does with events of which some are sampled (sampled_event.h).
#include <algorithm>
#include <utility>

#include "controller/perf/session.h"
#include "controller/perf/translate.h"

namespace causalctl::perf {

void Session::adapt_events(unsigned most) {
  for (auto& [tid, events] : threads_) events.adapt_events(most, random_());
}

std::uint64_t Session::fresh_events(std::uint32_t tag) {
  std::uint64_t most = 0;
  for (auto& [tid, events] : threads_) most = std::max(most, events.fresh_events(tag));
  return most;
}

void Session::keep_counts(const ThreadEvents& events) {
  for (const auto& [tag, event] : events.visits()) finished_counts_[tag] += event.read_count();
  for (const SampledEvent& each : events.sampled_events()) {
    if (!each.wakes()) closed_events_[each.tag()] += each.event().read_count();
  }
}

std::uint64_t Session::events_counted(std::uint32_t tag) const {
  const auto closed = closed_events_.find(tag);
  std::uint64_t sum = closed == closed_events_.end() ? 0 : closed->second;
  for (const auto& [tid, events] : threads_) {
    for (const SampledEvent& each : events.sampled_events()) {
      if (each.tag() == tag && !each.wakes()) sum += each.event().read_count();
    }
  }
  return sum;
}

void Session::close_events(std::uint32_t tag) {
  const auto is_meant = [tag](const auto& each) { return each.tag == tag && !each.wakes; };
  std::erase_if(plan_.events, is_meant);
  for (auto& [tid, events] : threads_) {
    for (const SampledEvent& each : events.sampled_events()) {
      if (each.tag() != tag || each.wakes()) continue;
      each.event().disable();
      closed_events_[tag] += each.event().read_count();
    }
    read(events);
    closer_.close(events.take_sampled_events(tag));
  }
}

void Session::open_events(const std::vector<EventTemplate>& events) {
  for (auto& [tid, each] : threads_) {
    if (!each.open_sampled_events(events, plan_)) lost_since_scan_ = true;
  }
  plan_.events.insert(plan_.events.end(), events.begin(), events.end());
}

void Session::handle_event(SampledEvent& event, ThreadId thread, const SampleRecord& record) {
  const auto worth = event.worth(record);
  if (!worth) return;
  auto sample = to_sample_event(record, thread, 0, kUserRegisters);
  sample.tag = event.tag();
  sample.events = *worth;
  sample.number = event.number(record);
  sample.reason = SampleReason::event;
  if (event.wakes()) {
    const auto waking = waking_.read(record);
    if (!waking || waking->context != WakeContext::task) return;  // what ran is not the waker
    sample.reason = SampleReason::waking;
    sample.woken = waking->woken;
  }
  give_sample(std::move(sample));
}

}  // namespace causalctl::perf
