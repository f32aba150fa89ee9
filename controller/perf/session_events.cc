// What the session does with events of which some are sampled (sampled_event.h, sampled_hits.h).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"
#include "controller/perf/bpf_numbers.h"
#include "controller/perf/session.h"
#include "controller/perf/translate.h"

namespace causalctl::perf {
namespace {

// As many samples of all hits as of the events of so many threads, each.
constexpr unsigned kThreadsOfHits = 4;

}  // namespace

// Those that a program can sample, if it was seen to. Otherwise each thread needs a perf event for
// each of them, and for each place of a uprobe.
void Session::open_sampled_hits(unsigned stack_bytes) {
  const auto is_for_program = [](const EventTemplate& event) {
    return sampleable(event) != Sampleable::nothing;
  };
  if (std::none_of(plan_.events.begin(), plan_.events.end(), is_for_program)) return;
  std::string reason;
  try {
    // A child of a member would be known to the programs late.
    if (may_join() && !scheduler_) throw Error("births of processes are not followed by BPF");
    for (const Pid process : set_->present()) (void)namespace_of_numbers(process);
    sampled_hits_ = make_sampled_hits(only_process_, process_bits(), plan_.events,
                                      std::min(stack_bytes, kLeavingStackBytes), reason);
    sample_hits(plan_.events);
  } catch (const Error& error) {
    sampled_hits_.reset();
    const bool is_uprobe = std::any_of(plan_.events.begin(), plan_.events.end(),
                                       [](const auto& each) { return each.place.has_value(); });
    if (is_uprobe && error.error_number() == kNotSupported) throw;  // no other way can, either
    reason = error.what();
  }
  if (!reason.empty()) log::verbose("threads have events for what is sampled besides: {}", reason);
  refuse_many_uprobes(reason);
}

void Session::refuse_many_uprobes(const std::string& why_no_program) const {
  const auto is_uprobe = [](const EventTemplate& each) { return each.place.has_value(); };
  const auto places = std::count_if(plan_.events.begin(), plan_.events.end(), is_uprobe);
  const std::size_t threads = procfs::threads(only_process_).size();
  const std::size_t events = static_cast<std::size_t>(places) * threads;
  if (events <= kMostUprobeEvents) return;
  throw Error(fmt::format("uprobes at {} places in {} threads need {} perf events, of which each "
                          "takes the kernel 50 ms to close; at most {} are possible (one for all "
                          "threads: {})",
                          places, threads, events, kMostUprobeEvents, why_no_program),
              "name a function with fewer places, or record a process with fewer threads; root, or "
              "CAP_BPF, may have one event for all threads");
}

// A hit counts from the birth of its thread on, before anything of the thread is followed.
void Session::read_sampled_hits() {
  for (SampleEvent& sample : sampled_hits_->read()) take_sample(std::move(sample));
}

void Session::sample_hits(std::vector<EventTemplate>& events) {
  if (!sampled_hits_) return;
  std::map<std::uint32_t, std::vector<EventTemplate>> by_tag;
  for (const EventTemplate& each : events) {
    if (sampled_hits_->takes(each)) by_tag[each.tag].push_back(each);
  }
  for (const auto& [tag, all] : by_tag) sampled_hits_->open(tag, all);
  std::erase_if(events, [this](const auto& each) { return sampled_hits_->takes(each); });
}

void Session::adapt_events(unsigned most) {
  if (sampled_hits_) sampled_hits_->adapt(kThreadsOfHits * most);
  for (auto& [tid, events] : threads_) events.adapt_events(most, random_());
}

std::uint64_t Session::fresh_events(std::uint32_t tag) {
  if (counts_all_threads(tag)) return sampled_hits_->fresh_of_busiest(tag);
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
  if (counts_all_threads(tag)) return sampled_hits_->count(tag);
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
  if (counts_all_threads(tag)) return closer_.close(sampled_hits_->close(tag));
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

bool Session::open_events(std::vector<EventTemplate> events) {
  try {
    sample_hits(events);
  } catch (const Error& error) {
    log::verbose("a uprobe cannot be opened again: {}", error.what());
    return false;
  }
  for (auto& [tid, each] : threads_) {
    if (!each.open_sampled_events(events, plan_)) lost_since_scan_ = true;
  }
  plan_.events.insert(plan_.events.end(), events.begin(), events.end());
  return true;
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
