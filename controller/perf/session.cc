#include "controller/perf/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/procfs.h"
#include "controller/perf/jitter.h"
#include "controller/perf/translate.h"

namespace causalctl::perf {
namespace {

// A record becomes visible a little after its timestamp was taken.
constexpr Nanoseconds kGuard = 20 * kMicrosecond;
constexpr Nanoseconds kGuardOfStacks = 200 * kMicrosecond;  // if a stack is copied before that
// A thread that hits a uprobe and is not known within 300 ms has ended before it was seen.
constexpr Nanoseconds kLongestUnknown = 300 * kMillisecond;
constexpr std::size_t kMostForbidden = 10'000;  // processes that are kept to be told of

// Returns 0 if there may be several.
Pid only_process(ProcessSet& set) {
  if (set.takes_children() || set.is_open()) return 0;
  const std::vector<Pid> present = set.present();
  return present.size() == 1 ? present.front() : 0;
}

std::string reason_of(const Error& error) {
  return error.hint().empty() ? error.what() : error.hint();
}

}  // namespace

Session::Session(Pid target, const SessionOptions& options)
    : Session(std::make_shared<OneProcess>(target), options) {}

Session::Session(std::shared_ptr<ProcessSet> set, const SessionOptions& options)
    : Session(std::move(set), options, plan_session(options)) {}

Session::Session(std::shared_ptr<ProcessSet> set, const SessionOptions& options, SessionPlan plan)
    : set_(std::move(set)),
      only_process_(only_process(*set_)),
      plan_(std::move(plan.threads)),
      waking_(plan.waking),
      random_(options.seed),
      lockable_pages_(lockable_pages()),
      uprobes_(only_process_),
      peers_(only_process_, options.ours, plan.waking, lockable_pages_ == kAnyMemory),
      limits_(std::move(plan.limits)),
      clocks_(Clocks::threads),
      period_at_start_ns_(options.period_ns) {
  plan_.peers = plan_.peers && only_process_ != 0;
  if (plan_.sample && plan_.switches && options.scheduler) open_scheduler();
  open_interrupted();
  if (scheduler_ || options.tasks) open_tasks();
  scans_rarely_ = options.tasks && tasks_;
  open_sampled_hits(options.stack_bytes);
  if (plan_.sample && plan_.events.empty()) clocks_ = options.clocks;
  // New threads are seen from their birth on by the clocks of the cores alone.
  const bool by_core = clocks_ == Clocks::cores ||
                       (clocks_ == Clocks::cheaper &&
                        (may_join() || core_sampling_pays(switches_per_second(set_->present()),
                                                          period_at_start_ns_)));
  if (by_core) use_cores();
  scan_until_stable();
  require_threads();
}

void Session::start() {
  plan_.running = true;
  counted_since_ns_ = monotonic_now();
  for (auto& [tid, events] : threads_) events.start(plan_);
  if (cores_ && plan_.sampling_on) cores_->enable(true);
  uprobes_.start();
  if (sampled_hits_) sampled_hits_->start();
  if (tasks_) tasks_->start();
  if (scheduler_ && set_->takes_children()) scheduler_->take_children();
  for (const auto& [process, known] : processes_) {
    if (bits_) bits_->sample(process);
  }
  sample_leaving();
  if (plan_.peers && plan_.waking) {
    peers_.start(*plan_.waking, scheduler_ ? &*scheduler_ : nullptr, plan_.by_tasks);
  }
  // Until now nothing told of births and deaths.
  lost_since_scan_ = true;
  scan_until_stable();
}

void Session::enable_sampling(bool on) {
  plan_.sampling_on = on;
  if (!plan_.running) return;
  for (auto& [tid, events] : threads_) events.enable_sampling(on);
  if (cores_) cores_->enable(on);
  sample_leaving();
}

void Session::set_stack_bytes(unsigned bytes) {
  INVARIANT(bytes % 8 == 0 && plan_.events.empty());
  if (bytes == plan_.sampling.stack_bytes) return;
  plan_.sampling.stack_bytes = bytes;
  cores_ ? reopen_cores() : reopen_sampling();
  sample_leaving();
}

bool Session::has_room_for(unsigned stack_bytes) const {
  const unsigned most = plan_.rings.most_stack_pages;
  return lockable_pages_ == kAnyMemory && stack_ring_pages(stack_bytes, most) < most;
}

void Session::reopen_sampling() {
  for (auto& [tid, events] : threads_) {
    events.enable_sampling(false);
    read(events);  // these records can be decoded only by the layout that they were written with
    try {
      if (!events.reopen_sampling(plan_)) lost_since_scan_ = true;
    } catch (const Error& error) {
      events.close_sampling();
      limits_.add(fmt::format("{} of some threads are not sampled any more: {}",
                              plan_.leaving ? "CPU time and switches" : "CPU time",
                              reason_of(error)));
    }
  }
}

void Session::set_period(Nanoseconds period_ns) {
  INVARIANT(period_ns > 0);
  plan_.sampling.period_ns = period_ns;
  if (cores_) {
    read_cores();
    cores_->set_period(period_ns);
  }
  for (auto& [tid, events] : threads_) events.set_period(draw_period(), monotonic_now());
}

void Session::jitter() {
  if (cores_) {
    read_cores();
    cores_->jitter();
  }
  for (auto& [tid, events] : threads_) {
    if (events.sampled_since_set_period()) events.set_period(draw_period(), monotonic_now());
  }
}

void Session::adapt_leaving(const MostLeaving& most) {
  if (scheduler_ && plan_.leaving) return scheduler_->adapt_leaving(most.at_place);
  for (auto& [tid, events] : threads_) events.adapt_leaving(most.of_thread, random_());
}

Nanoseconds Session::draw_period() { return jittered(plan_.sampling.period_ns, random_); }

EventBatch Session::drain(Nanoseconds now_ns) {
  for (auto& [tid, events] : threads_) read(events);
  if (tasks_) read_tasks();
  losses_.records_lost += peers_.read(merger_, [this](Tid tid) { return threads_.contains(tid); });
  losses_.records_lost += uprobes_.read();
  if (cores_) read_cores();
  if (scheduler_) read_scheduler();
  if (sampled_hits_) read_sampled_hits();
  give_hits(now_ns - kLongestUnknown);
  // Until here threads had the numbers that they had before. What is of threads that come now is
  // given after that.
  move_renamed();
  leave_by_exec();
  handle_births(now_ns - kLongestUnknown);
  give_hits(now_ns - kLongestUnknown);
  give_early(now_ns - kLongestUnknown);
  // After all that a thread did whose end was read.
  for (const ThreadId thread : std::exchange(exits_, {})) {
    const auto entry = threads_.find(thread.tid);
    if (entry != threads_.end() && entry->second.thread() == thread) finish(thread.tid, now_ns);
  }
  const bool may_be_over = threads_.empty() && !set_->is_open();
  const bool is_due = lost_since_scan_ || may_be_over || now_ns >= next_scan_ns_;
  if (is_due && now_ns >= scan_rests_until_ns_) rescan(now_ns);
  leave_cores_if_throttled();
  const bool has_stacks = plan_.leaving || sampled_hits_ || copies_interrupted();
  EventBatch batch = merger_.take_until(now_ns - (has_stacks ? kGuardOfStacks : kGuard));
  if (copies_interrupted()) complete_samples(batch, now_ns - kLongestUnknown);
  if (!left_threads_.empty()) drop_of_left(batch, now_ns - kLongestUnknown);
  return batch;
}

std::optional<std::uint64_t> Session::sample_rate_limit() const {
  const auto limit = procfs::read_number("/proc/sys/kernel/perf_event_max_sample_rate");
  return limit && *limit >= 0 ? std::optional(static_cast<std::uint64_t>(*limit)) : std::nullopt;
}

std::uint64_t Session::count(std::uint32_t tag) const {
  const auto finished = finished_counts_.find(tag);
  std::uint64_t sum = finished == finished_counts_.end() ? 0 : finished->second;
  sum += uprobes_.count(tag);
  for (const auto& [tid, events] : threads_) sum += events.count(tag);
  return sum;
}

const std::shared_ptr<ProcessBits>& Session::process_bits() {
  if (!bits_) {
    bits_ = std::make_shared<ProcessBits>();
    for (const auto& [process, known] : processes_) bits_->sample(process);
  }
  return bits_;
}

std::vector<ThreadId> Session::threads() const {
  std::vector<ThreadId> ids;
  for (const auto& [tid, events] : threads_) ids.push_back(events.thread());
  return ids;
}

bool Session::open_thread(Pid process, Tid tid, ThreadId parent, Nanoseconds start_ns,
                          bool is_told) {
  const std::size_t count = std::max(threads_.size(), expected_threads_);
  plan_.rings = ring_sizes(count, lockable_pages_);
  auto events =
      ThreadEvents::open({tid, last_serial_ + 1}, process, monotonic_now(), draw_period(), plan_);
  if (!events) return false;
  if (events->stack_bytes() < plan_.sampling.stack_bytes && lockable_pages_ != kAnyMemory) {
    limits_.add(
        "copies of stacks are smaller than usual, because little memory may be locked "
        "(RLIMIT_MEMLOCK, kernel.perf_event_mlock_kb; no limit with CAP_IPC_LOCK)");
  }
  // Both answers come from one read, because the thread may end before a second one. It comes after
  // its events are open: that it blocks later is told by a record.
  const std::string stat = procfs::thread_stat(process, tid).value_or("");
  // One whose birth was told may be gone: then its end was told, too.
  const char state = procfs::parse_state(stat);
  const bool is_gone = events->was_gone() || stat.empty() || state == 'Z' || state == 'X';
  if (plan_.by_tasks && is_gone && !is_told) return false;
  // A thread of the kernel's cannot be paused, and its wake-ups are like those by a device.
  if (tid != process && procfs::is_kernel_worker(process, stat)) return false;
  ++last_serial_;
  // A thread whose switches are known from its birth on was not blocked then.
  const bool blocked = !(plan_.by_scheduler && is_told) && procfs::is_blocked(state);
  merger_.push(ThreadStartEvent{events->thread(), parent, start_ns, blocked, false, process});
  events->set_since(start_ns);
  begin_process(process);
  processes_[process].threads.insert(tid);
  born_.push_back(tid);
  threads_.insert_or_assign(tid, std::move(*events));
  suspects_.erase(tid);
  return true;
}

// Throws Error if a set is left without any process, and no other one can come. An open set has had
// members until now, so it is refused if it may not follow a single one of them.
void Session::require_threads() {
  if (!threads_.empty()) return;
  if (first_refusal_) throw *first_refusal_;
  if (set_->is_open()) return;
  throw TargetGone(only_process_ != 0 ? fmt::format("process {} is not there", only_process_)
                                      : "all processes of the set have ended",
                   "see `ps -e` for those that run");
}

// Of a set, a process that may not be followed is no reason to leave the others alone. Returns
// whether it is one of these.
bool Session::leave_out_if_forbidden(Pid process, const Error& error) {
  const bool is_forbidden = error.error_number() == EPERM || error.error_number() == EACCES;
  if (only_process_ != 0 || !is_forbidden) return false;
  if (!first_refusal_) first_refusal_ = error;
  if (limits_.forbidden.size() >= kMostForbidden) return true;
  const auto status = procfs::thread_status(process, process);
  limits_.forbidden.try_emplace(process,
                                ForbiddenProcess{status ? status->name : "", reason_of(error)});
  return true;
}

void Session::count_missed(Pid process) {
  if (!limits_.forbidden.contains(process)) ++losses_.threads_missed;
}

bool Session::open_at_start(Pid process, Tid tid) {
  try {
    return open_thread(process, tid, {}, monotonic_now(), false);
  } catch (const Error& error) {
    if (!leave_out_if_forbidden(process, error)) throw;
    return false;
  }
}

// In the middle of a profile a thread that cannot be opened is a loss to be reported, and no reason
// to end.
bool Session::open_or_refuse(Pid process, Tid tid, ThreadId parent, Nanoseconds start_ns,
                             bool is_told) {
  try {
    return open_thread(process, tid, parent, start_ns, is_told);
  } catch (const Error& error) {
    if (!leave_out_if_forbidden(process, error)) {
      limits_.add(fmt::format("some threads are not profiled: {}", reason_of(error)));
    }
    refused_.insert(tid);
    return false;
  }
}

// Reads the last records, keeps the counts, closes. `exit_ns` is for when the EXIT record is lost.
void Session::finish(Tid tid, Nanoseconds exit_ns) {
  const auto entry = threads_.find(tid);
  if (entry == threads_.end()) return;
  auto& events = entry->second;
  read(events);
  if (events.thread().tid != tid) return;  // it lives, by exec under another number
  keep_counts(events);
  if (!events.exit_seen()) merger_.push(ThreadExitEvent{events.thread(), exit_ns});
  closer_.close(events.take_uprobes());
  if (const auto process = processes_.find(events.process()); process != processes_.end()) {
    process->second.threads.erase(tid);
  }
  threads_.erase(entry);
  waking_.forget(tid);
}

void Session::read(ThreadEvents& events) {
  losses_.records_lost += events.read([&](const Record& record) { handle(events, record); });
}

// What a thread did that was never watched is missing, its visits with it
// (SessionLosses::threads_missed).
void Session::give_hits(Nanoseconds older_than_ns) {
  uprobes_.give(older_than_ns, [this](const UprobeHit& hit) {
    const auto thread = threads_.find(hit.tid);
    // Who only counts need not know the thread. One that lives for less than two drains is never
    // known.
    if (thread == threads_.end() && plan_.sample) return false;
    const ThreadId by = thread == threads_.end() ? ThreadId{hit.tid, 0} : thread->second.thread();
    merger_.push(VisitEvent{by, hit.time_ns, hit.tag});
    return true;
  });
}

void Session::handle(ThreadEvents& events, const Record& record) {
  const ThreadId thread = events.thread();
  if (const auto* sample = std::get_if<SampleRecord>(&record)) {
    handle_sample(events, *sample);
  } else if (const auto* change = std::get_if<SwitchRecord>(&record)) {
    const auto& common = change->common;
    if (change->out) {
      events.throttling().leaves(common.time_ns);
    } else {
      events.throttling().comes(common.time_ns);
    }
    if (scheduler_) return;  // which tells the same; a clock that is stopped must know it, too
    if (!change->out) ++switches_in_;
    merger_.push(SwitchEvent{thread, common.time_ns, common.cpu, switch_kind(*change)});
  } else if (const auto* comm = std::get_if<CommRecord>(&record)) {
    if (comm->exec) handle_exec(events, comm->common.tid, comm->common.time_ns);
    merger_.push(NameEvent{events.thread(), comm->common.time_ns, std::string(comm->name)});
    if (comm->exec && may_join()) {
      executed_by_own_.push_back(
          {events.process(), comm->common.time_ns, std::string(comm->name), false});
    }
  } else if (const auto* lost = std::get_if<LostRecord>(&record)) {
    losses_.records_lost += lost->count;
    lost_since_scan_ = true;
  } else if (const auto* throttle = std::get_if<ThrottleRecord>(&record)) {
    if (throttle->on) {
      ++losses_.throttles;
      events.throttling().begin(throttle->common.time_ns);
    } else {
      events.throttling().end(throttle->common.time_ns);
    }
  } else {
    handle_task(record);
  }
}

void Session::handle_sample(ThreadEvents& events, const SampleRecord& record) {
  const ThreadId thread = events.thread();
  if (events.is_sample(record)) {
    const auto [sampled_ns, unsampled_ns] = events.sample_worth(record);
    losses_.unsampled_ns += unsampled_ns;
    give_sample(to_sample_event(record, thread, sampled_ns, kUserRegisters));
  } else if (events.is_leaving(record)) {
    events.see_leaving();
    SampleEvent sample = to_sample_event(record, thread, 0, kUserRegisters);
    sample.reason = SampleReason::leaving;
    give_sample(std::move(sample));
  } else if (events.is_wake(record)) {
    handle_wake(thread, record);
  } else if (const auto tag = events.visit_tag(record)) {
    merger_.push(VisitEvent{thread, record.common.time_ns, *tag});
  } else if (SampledEvent* event = events.sampled_event(record)) {
    handle_event(*event, thread, record);
  }
}

void Session::give_sample(SampleEvent event) {
  if (event.user.truncated) ++losses_.stacks_copied_in_part;
  merger_.push(std::move(event));
}

void Session::handle_wake(ThreadId thread, const SampleRecord& record) {
  const auto waking = waking_.read(record);
  if (!waking) {
    ++losses_.records_lost;
    return;
  }
  give_wake(thread, waking->woken, record.common.time_ns, waking->context);
}

void Session::give_wake(ThreadId thread, Tid woken, Nanoseconds time_ns, WakeContext context) {
  // In a hardware interrupt the timer of any process may have expired.
  if (context != WakeContext::hardirq && !threads_.contains(woken)) peers_.woken(woken);
  merger_.push(WakeEvent{thread, woken, time_ns, context});
}

}  // namespace causalctl::perf
