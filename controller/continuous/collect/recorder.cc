#include "controller/continuous/collect/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"
#include "controller/continuous/collect/compiled_names.h"
#include "controller/continuous/collect/file_keeper.h"
#include "controller/continuous/collect/image_table.h"
#include "controller/continuous/collect/kernel_code.h"
#include "controller/continuous/collect/process_maps.h"
#include "controller/continuous/collect/rate.h"
#include "controller/continuous/collect/time_of_day.h"
#include "controller/continuous/collect/visits.h"
#include "controller/continuous/record/backlog.h"
#include "controller/perf/bpf_program.h"
#include "controller/perf/core_counts.h"

namespace causalctl::continuous {
namespace {

constexpr Nanoseconds kLookEvery = 100 * kMillisecond;     // at births and mappings
constexpr Nanoseconds kUntilClockIsRight = 600 * kSecond;  // after a boot
// With a log of call paths: of the epoch before the current one, and at the end. Together they are
// less than the time in which a command must end.
constexpr Nanoseconds kLatePathsPatience = kSecond;
constexpr Nanoseconds kLastPathsPatience = 3 * kSecond;
constexpr Nanoseconds kKeepingPatience = kSecond / 2;  // with files, at the end
// Samples that cannot be written are kept up to so many places.
constexpr std::size_t kMostKept = 500'000;
constexpr const char* kInstead = "causalctl callpath records processes without BPF programs";
std::string read_modules() { return procfs::read_text("/proc/modules").value_or(""); }

class Recorder {
 public:
  Recorder(session::Watch& watch, Database& database, const RecordOptions& options,
           const RecordHooks& hooks)
      : watch_(watch),
        database_(database),
        options_(options),
        hooks_(hooks),
        modules_(read_modules()),
        images_(read_kernel_code(), sources()),
        day_(realtime_now(), boottime_now()),
        backlog_(kMostKept, database.last_epoch()) {
    summary_.sample_cost_ns = perf::measure_sample_cost();
    summary_.period_ns = options.period_ns > 0
                             ? options.period_ns
                             : period_for(summary_.sample_cost_ns, options.budget);
    perf::Session& events =
        watch.open({.sampling = false, .wake_edges = false, .peers = false, .tasks = true});
    counts_.emplace(
        options.all ? nullptr : events.process_bits(),
        perf::CountingOptions{
            .period_ns = summary_.period_ns,
            .seed = options.seed,
            .most_places = places_for(perf::all_cores(), options.drain_ns, summary_.period_ns),
            .children = watch.set().takes_children()});
    if (!options.points.empty()) {
      visits_.emplace(options.points, options.process, events.process_bits());
    }
  }

  RecordSummary run() {
    backlog_.begin_epoch("", realtime_now());
    backlog_.write(database_);
    remove_old();
    watch_.events().start();
    counts_->enable(true);
    if (visits_) visits_->start();
    if (hooks_.paths != nullptr) {
      attempt([this] {
        while (take_late_paths(0)) {  // what an earlier recorder has left behind
        }
        hooks_.paths->begin();
      });
    }
    begin_ns_ = drained_ns_ = tried_ns_ = merged_ns_ = epoch_ns_ = monotonic_now();
    const Nanoseconds cpu_ns = process_cpu_now();
    try {
      while (!hooks_.is_over() && !watch_.is_over()) {
        sleep_until(monotonic_now() + kLookEvery);
        take_events();
        do_at_times(monotonic_now());
        keep_file();
      }
    } catch (...) {
      write();
      throw;
    }
    drain();
    end_paths();
    for (const Nanoseconds until_ns = monotonic_now() + kKeepingPatience;
         monotonic_now() < until_ns && keep_file();) {
    }
    merge();
    summary_.unwritten = backlog_.samples();
    summary_.recorded_ns = drained_ns_ - begin_ns_;
    summary_.cpu_share = static_cast<double>(process_cpu_now() - cpu_ns) /
                         static_cast<double>(std::max<Nanoseconds>(1, summary_.recorded_ns));
    return summary_;
  }

 private:
  ImageSources sources() {
    ImageSources sources;
    sources.build_id = [](Pid process, const ProcessMaps::Found& found) {
      return open_mapped(process, found.begin, *found.code).build_id;
    };
    sources.compiled = [this](Pid process, Address address) {
      return compiled_.at(process, address);
    };
    sources.names = [this](const Image& image) { return database_.names(image); };
    return sources;
  }

  void read_maps(Pid process) {
    if (const auto maps = procfs::maps(process)) maps_.take(process, *maps);
    if (const auto status = procfs::status(process)) maps_.set_name(process, status->name);
  }

  void take_events() {
    for (const perf::Event& event : watch_.events().drain(monotonic_now())) {
      // Of a process whose birth was not told, the kernel's records tell what comes from now on.
      const auto* start = std::get_if<perf::ThreadStartEvent>(&event);
      const bool is_unknown = start != nullptr && start->parent.serial == 0;
      if (is_unknown && !maps_.knows(start->process)) read_maps(start->process);
      maps_.take(event);
    }
    if (counts_->cores_changed()) counts_->reopen_cores();
  }

  void do_at_times(Nanoseconds now_ns) {
    if (now_ns - tried_ns_ >= options_.drain_ns) drain();
    if (now_ns - merged_ns_ >= options_.merge_ns) {
      merge();
      if (!is_in_memory_ && is_half_full()) begin_epoch("");
    }
    if (now_ns - epoch_ns_ >= options_.epoch_ns) begin_epoch("");
    if (const auto otherwise_ns = day_.was_set(realtime_now(), boottime_now())) {
      log::note("the clock was set; a new epoch begins");
      begin_epoch("", *otherwise_ns);
    }
    if (visits_) end_dear_visits(now_ns);
    attempt([this] { take_late_paths(0); });
    attempt([this] { answer_requests(); });
  }

  // The epoch in which a point was counted to its end can be divided by its visits.
  void end_dear_visits(Nanoseconds now_ns) {
    const std::vector<std::string> sentences = visits_->find_dear_ones(now_ns);
    if (sentences.empty()) return;
    for (const std::string& sentence : sentences) log::note("{}", sentence);
    begin_epoch("");
    visits_->end_dear_ones();
  }

  // `end_ns`: of the one before, since 1970; the time of the clock if it is left out.
  void begin_epoch(const std::string& name, std::optional<Nanoseconds> end_ns = {}) {
    drain(end_ns);
    backlog_.begin_epoch(name, realtime_now());
    epoch_ns_ = monotonic_now();
    if (hooks_.paths != nullptr) {
      attempt([this] {
        take_late_paths(kLatePathsPatience);  // of the epoch before the last one
        hooks_.paths->end();
        hooks_.paths->begin();
      });
    }
    merge();
  }

  std::int64_t earliest_now() const { return day_.at_least(realtime_now(), boottime_now()); }

  void remove_old() {
    // Soon after a boot the clock may not be right yet.
    const bool is_by_age = options_.keep_ns > 0 && boottime_now() > kUntilClockIsRight;
    if (is_by_age || options_.most_bytes > 0) {
      database_.remove_old(is_by_age ? earliest_now() - options_.keep_ns : 0,
                           options_.most_of_epochs());
    }
  }

  // An epoch is removed as a whole, so that one alone must not fill the file.
  bool is_half_full() {
    bool is_half = false;
    attempt([&] {
      is_half = options_.most_bytes > 0 &&
                database_.epoch_bytes() > options_.most_of_epochs() / 2 &&
                database_.epochs().size() == 1;
    });
    return is_half;
  }

  // What fails is tried again with the next one.
  void drain(std::optional<Nanoseconds> end_ns = {}) {
    tried_ns_ = monotonic_now();
    const std::string failure = attempt([&] {
      drain_now(end_ns.value_or(realtime_now()));
      counted_.clear();
    });
    if (!failure.empty() && counted_.size() > kMostKept) {
      for (const perf::CountedPlace& each : counted_) summary_.lost += each.samples;
      counted_.clear();
    }
    write();
    hooks_.show(
        fmt::format("{} s, {} samples", (drained_ns_ - begin_ns_) / kSecond, summary_.samples));
  }

  void drain_now(std::int64_t end_ns) {
    take_events();  // whose mappings the samples may need
    const Nanoseconds now_ns = monotonic_now();
    for (perf::CountedPlace& each : counts_->drain()) {
      summary_.samples += each.samples;
      ++summary_.records;
      counted_.push_back(std::move(each));
    }
    read_maps_of_strangers(counted_);
    Drain drain;
    const std::uint64_t unknown = images_.add(counted_, maps_, options_.label, drain.profile);
    const auto lose = [&drain](const char* kind, std::uint64_t count) {
      if (count > 0) drain.losses[kind] += count;
      return count;
    };
    summary_.unknown += lose("unknown", unknown);
    summary_.lost += lose("unplaced", counts_->unplaced());
    const auto records = watch_.events().losses().records_lost;
    lose("records", records - std::exchange(records_lost_, records));
    drain.recorded_ns = now_ns - std::exchange(drained_ns_, now_ns);
    drain.end_ns = end_ns;
    drain.names = images_.take_names();
    files_.add(images_.take_new_files());
    files_.count(drain.profile);
    if (visits_) drain.visits = visits_->take();
    maps_.forget_ended();
    compiled_.forget_ended();
    summary_.lost += backlog_.add(std::move(drain));
  }

  // An epoch is over before the log of its call paths is written. Returns whether there was one.
  bool take_late_paths(Nanoseconds patience_ns) {
    if (hooks_.paths == nullptr) return false;
    auto log = hooks_.paths->take(patience_ns);
    if (log) backlog_.add_late_paths(std::move(*log));
    return log.has_value();
  }

  void end_paths() {
    if (hooks_.paths == nullptr) return;
    attempt([this] {
      take_late_paths(kLatePathsPatience);
      hooks_.paths->end();
      if (auto log = hooks_.paths->take(kLastPathsPatience)) {
        Drain rest;
        rest.paths = {std::move(*log)};
        backlog_.add(std::move(rest));
      }
    });
    write();
  }

  // Returns whether there may be more.
  bool keep_file() {
    if (!options_.files || is_in_memory_) return false;
    bool is_kept = false;
    attempt([&] { is_kept = files_.keep_next(database_, options_.most_of_kept()); });
    return is_kept;
  }

  // The processes that the watch leaves out: this one, and those beyond its limit.
  void read_maps_of_strangers(const std::vector<perf::CountedPlace>& counted) {
    for (const perf::CountedPlace& each : counted) {
      const bool is_stranger = each.process > 0 && !maps_.knows(each.process);
      if (is_stranger && images_.needs_maps(each)) read_maps(each.process);
    }
  }

  // Does what may fail, for want of room on the disk or because another process has the file. It is
  // tried again later. Returns why it failed, which is told once; empty if it did not.
  std::string attempt(const std::function<void()>& work, const char* consequence = "") {
    try {
      work();
      return {};
    } catch (const std::exception& error) {
      const std::string text = std::string(error.what()) + consequence;
      if (told_.insert(text).second) log::note("{}", text);
      return error.what();
    }
  }

  void write_or_throw() {
    if (backlog_.follow_path(database_)) {
      files_.keep_again();
      images_.tell_names_again();
      Drain names;
      names.names = images_.take_names();
      backlog_.add(std::move(names));
    }
    backlog_.write(database_);
  }

  std::string write() {
    std::string failure = attempt([this] { write_or_throw(); },
                                  "; what is recorded is kept in memory until it can be written");
    if (failure.empty() && std::exchange(is_in_memory_, false)) {
      log::note("{}: is written again", database_.file());
      told_.clear();
    }
    if (!failure.empty()) is_in_memory_ = true;
    return failure;
  }

  // Returns why it failed; empty if it did not.
  std::string merge() {
    merged_ns_ = monotonic_now();
    if (const std::string modules = read_modules(); modules != modules_) {
      modules_ = modules;
      images_.set_kernel(read_kernel_code());
    }
    if (std::string failure = write(); !failure.empty()) return failure;
    return attempt([this] {
      const bool is_right = boottime_now() > kUntilClockIsRight;
      if (is_right && options_.roll_up_ns > 0)
        database_.roll_up(earliest_now() - options_.roll_up_ns);
      database_.merge();
      remove_old();
    });
  }

  // What `causalctl db` asks of the recorder.
  void answer_requests() {
    if (!database_.is_open()) return;
    while (const auto request = database_.next_request()) {
      if (request->id != answered_) {  // otherwise the answer could not be written
        answered_ = request->id;
        if (request->kind == Request::Kind::epoch) {
          begin_epoch(request->text);
          answer_ = write();
        } else {
          drain();
          answer_ = merge();
        }
      }
      database_.finish(*request, answer_);
      answered_ = 0;  // its number may be that of another one soon
    }
    answered_ = 0;  // it was withdrawn
  }

  session::Watch& watch_;
  Database& database_;
  const RecordOptions& options_;
  const RecordHooks& hooks_;
  CompiledNames compiled_;
  std::string modules_;  // of the kernel, as /proc/modules lists them
  ImageTable images_;
  ProcessMaps maps_;
  std::optional<perf::CoreCounts> counts_;
  std::vector<perf::CountedPlace> counted_;  // that are not in a drain yet
  std::optional<Visits> visits_;
  RecordSummary summary_;
  TimeOfDay day_;
  FileKeeper files_;
  Backlog backlog_;
  std::uint64_t records_lost_ = 0;
  bool is_in_memory_ = false;
  std::int64_t answered_ = 0;  // the request whose answer could not be written yet
  std::string answer_;
  std::set<std::string> told_;  // failures since it could be written
  Nanoseconds tried_ns_ = 0;    // to drain, the last time
  Nanoseconds begin_ns_ = 0, drained_ns_ = 0, merged_ns_ = 0, epoch_ns_ = 0;
};

}  // namespace

RecordSummary record(session::Watch& watch, Database& database, const RecordOptions& options,
                     const RecordHooks& hooks) {
  std::optional<Recorder> recorder;
  try {
    recorder.emplace(watch, database, options, hooks);
  } catch (const Error& error) {
    if (error.code() != ExitCode::failed) throw;  // of what the user has named
    throw Error(error.what(), error.hint() + (error.hint().empty() ? "" : "; ") + kInstead);
  }
  return recorder->run();
}

}  // namespace causalctl::continuous
