#include "controller/callpath/run/run.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "controller/base/clock.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"
#include "controller/callpath/engine/copy_size.h"
#include "controller/callpath/engine/missing_callers.h"
#include "controller/callpath/engine/processes.h"
#include "controller/callpath/engine/recorder.h"
#include "controller/callpath/engine/still_threads.h"
#include "controller/callpath/places/kernel_part.h"
#include "controller/callpath/places/namer.h"
#include "controller/callpath/places/places.h"
#include "controller/callpath/run/account_watch.h"
#include "controller/callpath/run/counts.h"
#include "controller/callpath/run/event_watch.h"
#include "controller/perf/kept_open.h"
#include "controller/perf/session.h"
#include "controller/session/facilities.h"
#include "controller/symbols/call_chain.h"
#include "controller/symbols/mappings.h"
#include "unwind/stack/unwinder.h"

namespace causalctl::callpath {
namespace {

constexpr unsigned kKernelDepth = 127;  // of frame pointers, which Go's chains need
constexpr Nanoseconds kDrainEvery = 8 * kMillisecond;
constexpr Nanoseconds kLeastPause = kMillisecond;
constexpr Nanoseconds kJitterEvery = 100 * kMillisecond;
constexpr Nanoseconds kLatest = 2;  // intervals of a late reader for which the rings have room
// Samples of one thread's switches between two drains.
constexpr perf::MostLeaving kMostLeaving{.of_thread = 64, .at_place = 4};
constexpr Nanoseconds kWriteEvery = kSecond;
constexpr int kPriority = -10;  // a late reader loses records
constexpr Nanoseconds kNamesPatience = 60 * kSecond;
constexpr unsigned kMostEventSamples = 4;  // samples of an event of one thread between two drains

perf::SessionOptions session_options(const Settings& settings,
                                     const std::vector<WatchedEvent>& events, bool kernel_chain) {
  perf::SessionOptions options;
  options.period_ns = settings.period_ns;
  options.seed = settings.seed;
  options.stack_bytes = CopySize::kUsual;
  options.clocks = perf::Clocks::cheaper;
  options.leaving = settings.waits;
  options.wake_edges = settings.waits;
  options.wakers = settings.wakers;
  options.tried = settings.tried;
  options.peers = false;
  options.call_chain_depth = kKernelDepth;
  options.kernel_chain = kernel_chain;
  for (const WatchedEvent& event : events) {
    options.events.insert(options.events.end(), event.templates.begin(), event.templates.end());
  }
  return options;
}

std::string thread_name(Pid process, Tid thread) {
  const auto status = procfs::thread_status(process, thread);
  return status ? status->name : std::string();
}

class Run {
 public:
  Run(session::Watch& watch, const Settings& settings, const Hooks& hooks, Recording& recording)
      : watch_(watch),
        settings_(settings),
        hooks_(hooks),
        recording_(recording),
        events_(settings.events, settings.most_slowdown, settings.seed,
                watch.is_set() ? getpid() : watch.process(),
                recording),  // of a set, none is of a place in code
        places_(recording),
        kernel_part_(symbols::read_kernel_symbols(), places_),
        session_(
            watch.open(session_options(settings, events_.events(), kernel_part_.knows_functions()),
                       recording)),
        processes_(places_, recording, teller()),
        namer_(places_.files()),
        missing_callers_(places_, processes_, namer_, recording),
        recorder_(recorder_parts(), settings.grouping, settings.waits, recording),
        still_threads_([this](ThreadId thread) { return processes_.stacks_of(thread); }, recorder_,
                       [this] { drain(); }),
        epochs_(settings.epochs, recorder_, recording),
        counts_(watch.process(), events_.events(), session_, recording),
        account_(members(), recording.account),
        copy_size_(settings.events.empty() && !settings.wakers &&
                   settings.period_ns >= kMillisecond) {
    for (const Pid process : members()) processes_.add(process);
    if (kernel_part_.knows_functions() && session_.limits().kernel_samples) kernel_part_.begin();
    epochs_.arm(watch.process(), session_);
    // Without wake-ups all waits would seem to be ended from outside.
    if (settings.wakers && session_.limits().wake_edges) recorder_.record_wakers();
  }

  void follow() {
    hooks_.begun();
    session_.start();
    processes_.read_mappings();  // there were no records before
    processes_.mend_stacks();
    counts_.start(monotonic_now());
    hooks_.followed();
    begin_ns_ = drained_ns_ = monotonic_now();
    next_choice_ns_ = begin_ns_ + kSecond;
    recorder_.start(begin_ns_);
    account_.start(begin_ns_);
    epochs_.start(begin_ns_);
    if (settings_.waits) {
      drain();  // which tells whose threads they are
      still_threads_.place_blocked(
          session_.threads(), [this] { return is_over(); }, recording_);
    }
    const Nanoseconds cpu_ns = process_cpu_now();
    while (!is_over()) {
      sleep_until(monotonic_now() + pause());
      take_events();
      do_at_times(monotonic_now());
    }
    // On a busy machine the last reading may have begun long ago. Many clocks are read rarely.
    const bool is_late = monotonic_now() - drained_ns_ > 2 * kDrainEvery;
    if (account_.read_next_time() || is_late) take_events();
    recorder_.settle(drained_ns_, true);
    update_losses();
    events_.warn(counts_, recorder_, session_.target_alive(), recording_);
    recording_.controller_cpu_share =
        static_cast<double>(process_cpu_now() - cpu_ns) /
        static_cast<double>(std::max<Nanoseconds>(1, recording_.wall_ns));
    finish();
  }

  bool is_naming() { return namer_.open_questions() > 0; }  // in the background

 private:
  std::vector<Pid> members() {
    std::vector<Pid> pids = watch_.set().present();
    std::erase_if(pids, [this](Pid pid) { return session_.limits().forbidden.contains(pid); });
    return pids;
  }

  // Null where there is one process.
  Processes::Belongs teller() {
    if (!watch_.is_set()) return {};
    return [this](ThreadId thread, std::shared_ptr<ProcessRun> process) {
      recorder_.belongs(thread, std::move(process));
    };
  }

  RecorderParts recorder_parts() {
    RecorderParts parts;
    parts.chain = [this](const perf::SampleEvent& sample) -> const unwind::Chain& {
      return chain_of(sample);
    };
    parts.locate = [this](Pid process, Address address, bool is_call) {
      ProcessPlaces* places = processes_.places_of(process);
      return places != nullptr ? places->at(address, is_call) : places_.outside("[unknown]");
    };
    parts.kernel_part = [this](const perf::SampleEvent& sample) { return kernel_part_.of(sample); };
    parts.name_of = thread_name;
    parts.value_of = [this](const perf::SampleEvent& sample) {
      return amount_of(events_.events().at(sample.tag), sample);
    };
    parts.outside = [this](const char* name) { return places_.outside(name); };
    return parts;
  }

  bool is_over() {
    const auto because = [this](EndReason reason) {
      recording_.reason = reason;
      return true;
    };
    if (recording_.reason == EndReason::log_failed) return true;
    if (watch_.is_over()) return because(EndReason::target_exited);
    if (session::Watch::interrupts() > 0) return because(EndReason::interrupted);
    return settings_.duration_ns && monotonic_now() - begin_ns_ >= *settings_.duration_ns &&
           because(EndReason::duration);
  }

  Nanoseconds pause() {
    const Nanoseconds next_ns = events_.next_ns() - (monotonic_now() - begin_ns_);
    return std::clamp(next_ns, kLeastPause, kDrainEvery);
  }

  const unwind::Chain& chain_of(const perf::SampleEvent& sample) {
    static const unwind::Chain kKernelThread{{}, unwind::ChainEnd::outermost, true};
    if (sample.user.registers.empty()) return kKernelThread;
    unwind::Unwinder* unwinder = processes_.stacks_of(sample.thread).unwinder;
    if (unwinder == nullptr) return kKernelThread;
    const unwind::Chain& chain = symbols::unwound_chain(sample, *unwinder, kLongestChain);
    if (sample.reason == perf::SampleReason::cpu_time) {
      copy_size_.take(chain, sample.user.stack.size());
    }
    return chain;
  }

  void take_events() {
    drain();
    const AccountWatch::Look look = account_.look(monotonic_now());
    recorder_.look(look.halt, look.before_ns, look.at_ns);
    still_threads_.place_some(recording_);
    ask_names();
  }

  void drain() {
    processes_.read_compiled();
    drained_ns_ = monotonic_now();
    account_.read_clocks(drained_ns_);
    for (const perf::Event& event : session_.drain(drained_ns_)) {
      if (!watch_.is_set()) epochs_.take(event);
      notice_thread(event);
      account_.take(event);
      processes_.take(event);
      // Of a process that was there before, the recording begins with the first reading of its
      // mappings, a moment after the first samples.
      const auto* sample = std::get_if<perf::SampleEvent>(&event);
      if (sample != nullptr && !processes_.are_mappings_known(sample->thread, sample->time_ns)) {
        continue;
      }
      recorder_.take(event);
    }
    processes_.forget_ended();
    processes_.lost(session_.losses().records_lost, drained_ns_);
    events_.keep_cost_small(monotonic_now() - begin_ns_, session_, counts_);
  }

  void notice_thread(const perf::Event& event) {
    const auto* start = std::get_if<perf::ThreadStartEvent>(&event);
    if (start != nullptr && !start->is_peer && start->time_ns > begin_ns_) counts_.thread_began();
  }

  // Also asks for what tail calls have left out, whose places need names as well.
  void ask_names() {
    ask_names_of_new();
    missing_callers_.update();
    ask_names_of_new();
  }

  void ask_names_of_new() {
    for (; asked_ < recording_.locations.size(); ++asked_) {
      const Location& location = recording_.locations[asked_];
      if (location.module == 0 || !location.frames.empty()) continue;
      namer_.ask(Namer::Question{static_cast<LocationId>(asked_), location.module,
                                 location.offset - location.is_call});
    }
    for (Namer::Answer& answer : namer_.answers()) {
      recording_.locations[answer.id].frames = std::move(answer.frames);
    }
  }

  void do_at_times(Nanoseconds now_ns) {
    // A reader that is late finds more, which is no reason to sample less.
    const Nanoseconds drains = (now_ns - adapted_ns_ + kDrainEvery / 2) / kDrainEvery;
    const auto late = static_cast<unsigned>(std::clamp<Nanoseconds>(drains, 1, kLatest));
    adapted_ns_ = now_ns;
    session_.adapt_leaving({kMostLeaving.of_thread * late, kMostLeaving.at_place * late});
    session_.adapt_events(kMostEventSamples * late);
    if (now_ns >= next_choice_ns_) {
      session_.choose_clocks();
      if (const auto bytes = copy_size_.choose(session_.losses().records_lost,
                                               session_.has_room_for(CopySize::kDeep))) {
        session_.set_stack_bytes(*bytes);
      }
      next_choice_ns_ = now_ns + kSecond;
    }
    if (now_ns >= next_jitter_ns_) {
      session_.jitter();
      next_jitter_ns_ = now_ns + kJitterEvery;
    }
    epochs_.at_time(now_ns, drained_ns_);
    if (now_ns < next_write_ns_) return;
    next_write_ns_ = now_ns + kWriteEvery;
    recorder_.settle(drained_ns_);
    update_losses();
    hooks_.written();
    hooks_.show(fmt::format("{} s, {} samples, {} paths", (now_ns - begin_ns_) / kSecond,
                            recording_.chains.complete + recording_.chains.incomplete,
                            recording_.tree.size() - 1));
  }

  // How far the recording is, which is all that the log of a killed one tells.
  void update_losses() {
    recording_.wall_ns = drained_ns_ - begin_ns_;
    const perf::SessionLosses losses = session_.losses();
    account_.update(losses);
    counts_.update(monotonic_now(), events_.cost_shares());
    recording_.losses.records_lost = losses.records_lost;
    recording_.losses.throttles = losses.throttles;
    recording_.losses.stacks_copied_in_part = losses.stacks_copied_in_part;
    recording_.losses.stacks_truncated = recording_.chains.incomplete;
    recording_.losses.samples_total = recording_.chains.complete + recording_.chains.incomplete;
  }

  void finish() {
    epochs_.finish();
    for (std::string& warning : recorder_.table_gaps().warnings(recording_)) {
      recording_.warnings.push_back(std::move(warning));
    }
    watch_.tell_losses("causalctl callpath", recording_);
    if (settings_.waits && !session_.limits().wake_edges) {
      recording_.warnings.push_back(
          fmt::format("a thread that was woken and waits for a core counts as blocked{}",
                      settings_.wakers ? ", and --wakers shows nothing" : ""));
    }
    watch_.take_events().reset();  // nothing is open on the target any more
    perf::close_kept();
    wait_for_names();
    places_.files().warn(recording_);
  }

  // Who has asked for the end does not wait for long. A report of the log looks up what is missing.
  void wait_for_names() {
    const int interrupts = session::Watch::interrupts();
    const Nanoseconds until_ns =
        monotonic_now() + (interrupts > 0 ? kPatienceOnceAsked : kNamesPatience);
    while (namer_.open_questions() > 0 && session::Watch::interrupts() == interrupts &&
           monotonic_now() < until_ns) {
      hooks_.show(
          fmt::format("reading debug information: {} places to look up", namer_.open_questions()));
      sleep_until(monotonic_now() + 20 * kMillisecond);
      ask_names();
    }
    ask_names();
    if (const std::size_t left = namer_.open_questions(); left > 0) {
      log::note(
          "{} places have no names here, because debug information was not read to its end; "
          "causalctl report of the log reads it",
          left);
    }
  }

  session::Watch& watch_;
  const Settings& settings_;
  const Hooks& hooks_;
  Recording& recording_;
  EventWatch events_;
  Places places_;
  KernelPart kernel_part_;
  perf::Session& session_;  // until finish()
  Processes processes_;
  Namer namer_;
  MissingCallers missing_callers_;
  Recorder recorder_;
  StillThreads still_threads_;
  Epochs epochs_;
  Counts counts_;
  AccountWatch account_;
  Nanoseconds begin_ns_ = 0;
  Nanoseconds drained_ns_ = 0;  // up to then all events were taken; later ones are still to come
  std::size_t asked_ = 0;       // locations whose names were asked for
  Nanoseconds adapted_ns_ = 0;  // when it was last told how often threads may be sampled
  Nanoseconds next_jitter_ns_ = 0;
  Nanoseconds next_choice_ns_ = 0;  // of clocks, and of the size of copies
  CopySize copy_size_;
  Nanoseconds next_write_ns_ = 0;
};

}  // namespace

void record(session::Watch& watch, const Settings& settings, const Hooks& hooks,
            Recording& recording) {
  recording.period_ns = settings.period_ns;
  if (recording.epochs.empty()) recording.epochs.push_back({0, "start"});
  session::record(settings.tried, recording);
  auto& warnings = recording.warnings;
  warnings.insert(warnings.end(), settings.left_out.begin(), settings.left_out.end());
  setpriority(PRIO_PROCESS, 0, kPriority);  // of this thread; without the right it stays as it is
  auto run = std::make_unique<Run>(watch, settings, hooks, recording);
  run->follow();
  // Otherwise the destructor would wait for what may be a large file. The process ends with it.
  if (run->is_naming()) (void)run.release();
}

}  // namespace causalctl::callpath
