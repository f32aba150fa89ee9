// The perf events of one thread, their rings, and what must be known to read them.
//
// One event owns the ring, by itself or for bookkeeping. All others write into it, except sampling
// events that copy stacks: these have a ring of their own, because a few samples would push the
// switches out. Where nothing is kept by a thread's own events, the ring comes with the first event
// that needs it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "controller/perf/attrs.h"
#include "controller/perf/event.h"
#include "controller/perf/record.h"
#include "controller/perf/ring.h"
#include "controller/perf/ring_sizes.h"
#include "controller/perf/sampled_event.h"
#include "controller/perf/throttling.h"

namespace causalctl::perf {

// What every thread gets.
struct ThreadPlan {
  bool sample = true;    // false: there is no sampling event at all
  bool switches = true;  // records of switches are wanted
  bool peers = true;     // switches of other processes are wanted, too (peers.h)
  SamplingFields sampling;
  std::optional<int> program;  // run at each sample that copies a stack, but for those of `events`
  // The clocks of the cores sample the threads (core_sampling.h): they have none of their own.
  bool by_core = false;
  // Switches and wake-ups are followed for all threads, and switches are sampled
  // (scheduler_watch.h): they have no events of their own for these.
  bool by_scheduler = false;
  // Births, ends and mappings are told by events of the cores (task_records.h): a thread has no
  // event but those that something else needs.
  bool by_tasks = false;
  bool leaving = false;  // samples of threads that leave their core (needs stack_bytes)
  std::optional<perf_event_attr> waking;
  std::vector<VisitTemplate> visits;  // with the fields that the session adds
  std::vector<EventTemplate> events;  // they need sampling with stack_bytes
  RingSizes rings{32, 256};
  bool running = false;     // records flow
  bool sampling_on = true;  // samples flow, too
};

class ThreadEvents {
 public:
  // Opens all of `plan` on the thread, and samples it with `period_ns`. If the thread is gone,
  // returns nullopt, or where events of the cores tell of threads (`by_tasks`), what has none.
  [[nodiscard]] static std::optional<ThreadEvents> open(ThreadId thread, Pid process,
                                                        Nanoseconds opened_ns,
                                                        Nanoseconds period_ns,
                                                        const ThreadPlan& plan);

  ThreadId thread() const { return thread_; }
  Pid process() const { return process_; }
  bool was_gone() const { return is_gone_; }  // when its events were to be opened
  bool open_again(const ThreadPlan& plan) {   // once it has another number; false: it is gone
    is_gone_ = !open_rest(plan);
    return !is_gone_;
  }
  Nanoseconds opened_ns() const { return opened_ns_; }
  // When the thread was told of: at its birth, if that was seen.
  Nanoseconds since_ns() const { return since_ns_; }
  void set_since(Nanoseconds time_ns) { since_ns_ = time_ns; }
  unsigned stack_bytes() const { return sampling_.attr().sample_stack_user; }  // of a sample
  // After exec by a thread that is not the main thread.
  void rename(ThreadId thread) { thread_ = thread; }

  // Calls use(const Record&) for every record in the rings. Returns how many were malformed.
  template <typename Use>
  std::uint64_t read(Use&& use);

  bool is_sample(const SampleRecord& record) const {
    return sampling_ && record.common.id == sampling_.id();
  }
  bool is_leaving(const SampleRecord& record) const {
    return leaving_ && record.common.id == leaving_.id();
  }
  bool is_wake(const SampleRecord& record) const {
    return waking_ && record.common.id == waking_.id();
  }
  std::optional<std::uint32_t> visit_tag(const SampleRecord& record) const;
  // Returns the event of which the record is a sample, or null.
  SampledEvent* sampled_event(const SampleRecord& record);

  // Returns the CPU time since the thread's previous sample. Records carry the period that the
  // event was opened with, whatever it was changed to (measured: Linux 6.18), so the event's own
  // count is used. It is limited, so that time without samples (they were lost, or kernel code is
  // excluded) is not charged to the next one.
  Throttling::Worth sample_worth(const SampleRecord& record);
  Throttling& throttling() { return throttling_; }
  void see_leaving() { ++leaves_seen_; }
  // Samples fewer of the switches if there were more than `most` samples since the last call, and
  // more if there were few. `random` jitters, so that sampling does not follow a pattern of
  // switches.
  void adapt_leaving(unsigned most, std::uint64_t random);
  void adapt_events(unsigned most, std::uint64_t random);  // the same of each sampled event

  // nullopt: the thread is gone. Not armed until commit.
  [[nodiscard]] std::optional<EventFd> open_visit(const VisitTemplate& visit);
  void commit_visit(EventFd event, std::uint32_t tag, bool enable);
  void enable_visits(std::uint32_t tag, bool on);
  // REQUIRES: the rings have been read since they were disabled.
  std::vector<EventFd> take_visits(std::uint32_t tag);

  void start(const ThreadPlan& plan);
  void enable_sampling(bool on);
  void set_period(Nanoseconds period_ns, Nanoseconds now_ns);
  bool sampled_since_set_period() const { return sampled_; }
  // Returns false if the thread is gone; then, and when it throws, nothing is sampled. REQUIRES:
  // the rings have been read since disable_sampling.
  bool reopen_sampling(const ThreadPlan& plan);
  void close_sampling();

  // From when a thread that executes another program has another number, until that is told: until
  // the memory of the program before is given back.
  static constexpr Nanoseconds kLongestExec = kSecond;
  // Whether its end shows, though it may not have been told. A thread without events has ended if
  // it was not there for a time, by see().
  bool ended() const { return owner_ ? owner_.thread_ended() : is_missing_; }
  void see(bool is_there, Nanoseconds now_ns) {
    if (is_there) there_ns_ = now_ns;
    is_missing_ = now_ns - there_ns_ > kLongestExec;
  }
  bool exit_seen() const { return exited_ns_ != 0; }    // true once its EXIT record has been read
  Nanoseconds exited_ns() const { return exited_ns_; }  // the time of that; 0 before
  void see_exit(Nanoseconds time_ns) { exited_ns_ = time_ns; }
  std::uint64_t count(std::uint32_t tag) const;
  const std::vector<std::pair<std::uint32_t, EventFd>>& visits() const { return visits_; }
  const std::vector<SampledEvent>& sampled_events() const { return sampled_events_; }
  // As SampledEvent::fresh(), of those with this tag that wake nobody.
  std::uint64_t fresh_events(std::uint32_t tag);
  // Opens those of `events` that are not open yet. Returns false if the thread is gone.
  bool open_sampled_events(const std::vector<EventTemplate>& events, const ThreadPlan& plan);
  // REQUIRES: the rings have been read since they were disabled.
  std::vector<EventFd> take_sampled_events(std::uint32_t tag);
  // Takes those events that the kernel takes long to close, so that another thread can close
  // them.
  std::vector<EventFd> take_uprobes();

 private:
  ThreadEvents() = default;
  bool open_rest(const ThreadPlan& plan);
  // Returns the owner of the ring, or null if the thread is gone. If it is opened now, it records
  // the switches of the thread if they are wanted.
  const EventFd* owner(bool switches);
  void own(EventFd owner);
  bool reopen_leaving(const ThreadPlan& plan, const EventFd* output);
  void update_layouts();

  ThreadId thread_;
  Pid process_ = 0;
  Nanoseconds opened_ns_ = 0;
  Nanoseconds since_ns_ = 0;
  EventFd owner_;
  Ring ring_;
  unsigned ring_pages_ = 0;  // of a ring that is still to come
  bool is_gone_ = false;
  Nanoseconds there_ns_ = 0;  // when it was there for the last time, as far as anybody looked
  bool is_missing_ = false;
  EventFd sampling_;
  Ring stack_ring_;
  EventFd leaving_;
  EventFd waking_;
  std::vector<std::pair<std::uint32_t, EventFd>> visits_;  // tag, event
  std::vector<SampledEvent> sampled_events_;
  std::vector<SampleLayout> layouts_;

  unsigned leaves_seen_ = 0;  // since adapt_leaving()
  // At the beginning a thread may leave its core any number of times before it is known how often.
  std::uint64_t leaves_every_ = 16;
  Nanoseconds exited_ns_ = 0;
  bool kernel_ = true;
  std::uint64_t last_count_ = 0;
  Throttling throttling_;
  bool sampled_ = false;  // since the period was last set
  Nanoseconds period_ns_ = 0;
  Nanoseconds earlier_period_ns_ = 0;  // holds until period_since_ns_
  Nanoseconds period_since_ns_ = 0;
};

template <typename Use>
std::uint64_t ThreadEvents::read(Use&& use) {
  std::uint64_t malformed = 0;
  const auto use_bytes = [&](Bytes bytes) {
    if (const auto record = decode(bytes, layouts_)) {
      use(*record);
    } else {
      ++malformed;
    }
  };
  if (!ring_.consume(use_bytes)) ++malformed;
  if (!stack_ring_.consume(use_bytes)) ++malformed;
  return malformed;
}

}  // namespace causalctl::perf
