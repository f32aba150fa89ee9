#include "controller/perf/thread_events.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "controller/perf/ring_sizes.h"
#include "controller/perf/stack_event.h"

namespace causalctl::perf {
namespace {

perf_event_attr enabled_if(perf_event_attr attr, bool enabled) {
  attr.disabled = enabled ? 0 : 1;
  return attr;
}

constexpr std::string_view kSampling = "task-clock sampling", kLeaving = "sampling of switches";
constexpr std::uint64_t kFewestLeaves = 1 << 20;  // sampled of so many switches at least one
constexpr std::uint64_t kRedrawn = 8;  // once in so many calls a period is drawn without need

}  // namespace

std::optional<ThreadEvents> ThreadEvents::open(ThreadId thread, Pid process, Nanoseconds opened_ns,
                                               Nanoseconds period_ns, const ThreadPlan& plan) {
  ThreadEvents events;
  events.thread_ = thread;
  events.process_ = process;
  events.opened_ns_ = events.there_ns_ = opened_ns;
  events.period_ns_ = events.earlier_period_ns_ = period_ns;
  events.ring_pages_ = plan.rings.pages;
  if (!plan.by_tasks) {
    const bool switches = plan.switches && !(plan.by_scheduler && plan.by_core);
    auto owner = EventFd::open(bookkeeping_attr(switches), thread.tid, "thread bookkeeping");
    if (!owner) return std::nullopt;
    events.own(std::move(*owner));
    // Comes first, so that the birth of threads is not missed.
    if (plan.running) events.owner_.enable();
  }
  events.is_gone_ = !events.open_rest(plan);
  if (events.is_gone_ && !plan.by_tasks) return std::nullopt;
  events.update_layouts();
  return events;
}

// Returns false if the thread is gone.
bool ThreadEvents::open_rest(const ThreadPlan& plan) {
  if (!reopen_sampling(plan)) return false;
  if (plan.waking && !plan.by_scheduler) {
    const EventFd* output = owner(false);
    if (output == nullptr) return false;
    auto waking = EventFd::open(enabled_if(*plan.waking, plan.running), thread_.tid,
                                "tracepoint sched:sched_waking", output);
    if (!waking) return false;
    waking_ = std::move(*waking);
  }
  for (const auto& visit : plan.visits) {
    auto event = open_visit(visit);
    if (!event) return false;
    commit_visit(std::move(*event), visit.tag, plan.running);
  }
  return open_sampled_events(plan.events, plan);
}

void ThreadEvents::close_sampling() {
  leaving_ = EventFd();
  sampling_ = EventFd();
  stack_ring_ = Ring();
  update_layouts();
}

bool ThreadEvents::reopen_sampling(const ThreadPlan& plan) {
  close_sampling();  // first, because the memory of rings is scarce
  if (!plan.sample) return true;
  const bool is_idle = !waking_ && visits_.empty() && sampled_events_.empty();
  if (plan.by_core && plan.by_tasks && is_idle) {  // even a disabled event costs at each switch
    owner_ = EventFd();
    ring_ = Ring();
  }
  if (plan.by_core) return reopen_leaving(plan, nullptr);
  SamplingFields fields = plan.sampling;
  fields.period_ns = period_ns_;
  const bool enabled = plan.running && plan.sampling_on;
  const EventFd* const output = owner(plan.switches);
  if (output == nullptr) return false;
  if (fields.stack_bytes == 0) {
    auto event =
        EventFd::open(enabled_if(sampling_attr(fields), enabled), thread_.tid, kSampling, output);
    if (!event) return false;
    sampling_ = std::move(*event);
  } else {
    const unsigned most = plan.rings.most_stack_pages;
    auto opened = open_stack_event(
        sampling_attr(fields),
        plan.leaving && !plan.by_scheduler ? most : stack_ring_pages(fields.stack_bytes, most),
        [&](const auto& attr) { return EventFd::open(attr, thread_.tid, kSampling); });
    if (!opened) return false;
    sampling_ = std::move(opened->event);
    if (plan.program) sampling_.set_program(*plan.program);
    stack_ring_ = std::move(opened->ring);
    if (enabled) sampling_.enable();
  }
  if (!reopen_leaving(plan, stack_ring_ ? &sampling_ : nullptr)) return false;
  kernel_ = fields.kernel;
  last_count_ = 0;
  update_layouts();
  return true;
}

// Writes into the ring of `output`, or into one of its own.
bool ThreadEvents::reopen_leaving(const ThreadPlan& plan, const EventFd* output) {
  leaving_ = EventFd();
  const unsigned stack_bytes = plan.sampling.stack_bytes;
  if (plan.leaving && !plan.by_scheduler && stack_bytes > 0) {
    const bool enabled = plan.running && plan.sampling_on;
    auto attr = leaving_attr(stack_bytes, leaves_every_, plan.sampling.kernel_chain);
    if (output != nullptr) {
      attr.sample_stack_user =
          std::min(attr.sample_stack_user, most_stack_bytes(stack_ring_.bytes()));
      auto leaving = EventFd::open(enabled_if(attr, enabled), thread_.tid, kLeaving, output);
      if (!leaving) return false;
      leaving_ = std::move(*leaving);
    } else {
      auto opened = open_stack_event(attr, plan.rings.most_stack_pages, [&](const auto& each) {
        return EventFd::open(each, thread_.tid, kLeaving);
      });
      if (!opened) return false;
      leaving_ = std::move(opened->event);
      stack_ring_ = std::move(opened->ring);
      if (enabled) leaving_.enable();
    }
    if (plan.program) leaving_.set_program(*plan.program);
  }
  update_layouts();
  return true;
}

bool ThreadEvents::open_sampled_events(const std::vector<EventTemplate>& events,
                                       const ThreadPlan& plan) {
  const std::size_t before = sampled_events_.size();
  for (const EventTemplate& each : events) {
    auto event =
        SampledEvent::open(each, thread_.tid, sampling_.attr().sample_stack_user, sampling_);
    if (!event) return false;
    sampled_events_.push_back(std::move(*event));
  }
  update_layouts();  // must precede the first record
  if (plan.running && plan.sampling_on) {
    for (std::size_t i = before; i < sampled_events_.size(); ++i) {
      sampled_events_[i].event().enable();
    }
  }
  return true;
}

std::uint64_t ThreadEvents::fresh_events(std::uint32_t tag) {
  std::uint64_t sum = 0;
  for (SampledEvent& each : sampled_events_) {
    if (each.tag() == tag && !each.wakes()) sum += each.fresh();
  }
  return sum;
}

std::vector<EventFd> ThreadEvents::take_sampled_events(std::uint32_t tag) {
  std::vector<EventFd> taken;
  for (SampledEvent& each : sampled_events_) {
    if (each.tag() == tag && !each.wakes()) taken.push_back(each.take());
  }
  std::erase_if(sampled_events_, [](const auto& each) { return !each.event(); });
  update_layouts();
  return taken;
}

const EventFd* ThreadEvents::owner(bool switches) {
  if (!owner_) {
    auto owner = EventFd::open(ring_attr(switches), thread_.tid, "ring of a thread");
    if (!owner) return nullptr;
    own(std::move(*owner));
  }
  return &owner_;
}

// An event without a ring looks as that of a thread that has ended.
void ThreadEvents::own(EventFd owner) {
  ring_ = Ring(owner.map_ring(ring_pages_));
  owner_ = std::move(owner);
}

std::optional<EventFd> ThreadEvents::open_visit(const VisitTemplate& visit) {
  const EventFd* output = owner(false);
  if (output == nullptr) return std::nullopt;
  return EventFd::open(visit.attr, thread_.tid, visit.what, output);
}

void ThreadEvents::commit_visit(EventFd event, std::uint32_t tag, bool enable) {
  visits_.emplace_back(tag, std::move(event));
  update_layouts();  // must precede the first record
  if (enable) visits_.back().second.enable();
}

void ThreadEvents::enable_visits(std::uint32_t tag, bool on) {
  for (const auto& [each, event] : visits_) {
    if (each == tag) on ? event.enable() : event.disable();
  }
}

std::vector<EventFd> ThreadEvents::take_visits(std::uint32_t tag) {
  std::vector<EventFd> taken;
  for (auto& [each, event] : visits_) {
    if (each == tag) taken.push_back(std::move(event));
  }
  std::erase_if(visits_, [](const auto& visit) { return !visit.second; });
  update_layouts();
  return taken;
}

void ThreadEvents::update_layouts() {
  layouts_.clear();
  const auto add = [&](const EventFd& event) {
    if (event)
      layouts_.push_back({event.id(), event.attr().sample_type, event.attr().sample_regs_user});
  };
  add(sampling_);
  add(leaving_);
  add(waking_);
  for (const auto& [tag, event] : visits_) add(event);
  for (const SampledEvent& each : sampled_events_) add(each.event());
}

std::optional<std::uint32_t> ThreadEvents::visit_tag(const SampleRecord& record) const {
  const auto visit = std::find_if(visits_.begin(), visits_.end(), [&](const auto& each) {
    return each.second.id() == record.common.id;
  });
  return visit == visits_.end() ? std::nullopt : std::optional(visit->first);
}

SampledEvent* ThreadEvents::sampled_event(const SampleRecord& record) {
  const auto event =
      std::find_if(sampled_events_.begin(), sampled_events_.end(),
                   [&](const auto& each) { return each.event().id() == record.common.id; });
  return event == sampled_events_.end() ? nullptr : &*event;
}

Throttling::Worth ThreadEvents::sample_worth(const SampleRecord& record) {
  sampled_ = true;
  const auto passed = static_cast<Nanoseconds>(record.count - last_count_);
  last_count_ = record.count;
  const Nanoseconds nominal =
      record.common.time_ns < period_since_ns_ ? earlier_period_ns_ : period_ns_;
  const Nanoseconds most = kernel_ ? 2 * nominal : nominal;
  auto ran = throttling_.take_ran(record.common.time_ns);
  // With stacks the switches are in another ring than the samples, and their order is not known.
  if (sampling_.attr().sample_stack_user > 0) ran.reset();
  return passed > 0 ? throttling_.take_worth(passed, most, ran) : Throttling::Worth{nominal};
}

void ThreadEvents::start(const ThreadPlan& plan) {
  if (owner_) owner_.enable();
  if (plan.sample && plan.sampling_on) enable_sampling(true);
  if (waking_) waking_.enable();
  for (const auto& [tag, event] : visits_) event.enable();
}

void ThreadEvents::enable_sampling(bool on) {
  if (sampling_) on ? sampling_.enable() : sampling_.disable();
  if (leaving_) on ? leaving_.enable() : leaving_.disable();
  for (const SampledEvent& each : sampled_events_) {
    on ? each.event().enable() : each.event().disable();
  }
}

void ThreadEvents::adapt_leaving(unsigned most, std::uint64_t random) {
  const unsigned seen = std::exchange(leaves_seen_, 0);
  if (!leaving_) return;
  // Less than the ring holds, so that more than that can be seen.
  const auto room = static_cast<unsigned>(stack_ring_.bytes() / 4 * 3 /
                                          (leaving_.attr().sample_stack_user + kSampleOtherBytes));
  most = std::clamp(room, 1U, std::max(1U, most));
  const std::uint64_t before = leaves_every_;
  if (seen > most) leaves_every_ = std::min(leaves_every_ * (seen / most + 1), kFewestLeaves);
  if (seen < most / 2 && leaves_every_ > 1) leaves_every_ /= 2;
  if (leaves_every_ == before && random % kRedrawn != 0) return;
  const std::uint64_t half = leaves_every_ / 2;
  leaving_.set_period(static_cast<Nanoseconds>(
      std::max<std::uint64_t>(1, leaves_every_ - half / 2 + random % (half + 1))));
}

void ThreadEvents::adapt_events(unsigned most, std::uint64_t random) {
  for (SampledEvent& each : sampled_events_) each.adapt(most, random);
}

void ThreadEvents::set_period(Nanoseconds period_ns, Nanoseconds now_ns) {
  if (sampling_) sampling_.set_period(period_ns);
  sampled_ = false;
  earlier_period_ns_ = period_ns_;
  period_ns_ = period_ns;
  period_since_ns_ = now_ns;
}

std::uint64_t ThreadEvents::count(std::uint32_t tag) const {
  std::uint64_t sum = 0;
  for (const auto& [each, event] : visits_) sum += each == tag ? event.read_count() : 0;
  return sum;
}

std::vector<EventFd> ThreadEvents::take_uprobes() {
  std::vector<EventFd> taken;
  for (auto& [tag, event] : visits_) {
    // PMUs whose types are not part of the interface, uprobes among them, have types above all
    // others.
    if (event.attr().type >= PERF_TYPE_MAX) taken.push_back(std::move(event));
  }
  std::erase_if(visits_, [](const auto& visit) { return !visit.second; });
  for (SampledEvent& each : sampled_events_) {
    if (each.event().attr().type >= PERF_TYPE_MAX) taken.push_back(each.take());
  }
  std::erase_if(sampled_events_, [](const auto& each) { return !each.event(); });
  return taken;
}

}  // namespace causalctl::perf
