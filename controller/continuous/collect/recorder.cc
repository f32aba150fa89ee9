#include "controller/continuous/collect/recorder.h"

#include <algorithm>
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

constexpr Nanoseconds kLookEvery = 100 * kMillisecond;  // at births and mappings
constexpr Nanoseconds kKeepingPatience = 2 * kSecond;   // with files, at the end
// Samples that cannot be written are kept up to so many places.
constexpr std::size_t kMostKept = 500'000;

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
        day_(realtime_now(), boottime_now()) {
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
    begin_ns_ = drained_ns_ = merged_ns_ = epoch_ns_ = monotonic_now();
    const Nanoseconds cpu_ns = process_cpu_now();
    while (!hooks_.is_over() && !watch_.is_over()) {
      sleep_until(monotonic_now() + kLookEvery);
      take_events();
      do_at_times(monotonic_now());
      keep_file();
    }
    drain();
    keep_files_until(monotonic_now() + kKeepingPatience);
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
    if (!visits_) return;
    for (const std::string& sentence : visits_->end_dear_ones(monotonic_now())) {
      log::note("{}", sentence);
    }
  }

  void do_at_times(Nanoseconds now_ns) {
    if (now_ns - drained_ns_ >= options_.drain_ns) drain();
    if (now_ns - merged_ns_ >= options_.merge_ns) {
      merge();
      if (is_half_full()) begin_epoch("");
    }
    if (now_ns - epoch_ns_ >= options_.epoch_ns) begin_epoch("");
    if (day_.was_set(realtime_now(), boottime_now())) {
      log::note("the clock was set; a new epoch begins");
      begin_epoch("");
    }
    attempt([this] { answer_requests(); });
  }

  void begin_epoch(const std::string& name) {
    drain();
    backlog_.begin_epoch(name, realtime_now());
    epoch_ns_ = monotonic_now();
    merge();
  }

  void remove_old() {
    const std::int64_t now_ns = day_.at_least(realtime_now(), boottime_now());
    const std::int64_t oldest_ns = options_.keep_ns > 0 ? now_ns - options_.keep_ns : 0;
    if (options_.keep_ns > 0 || options_.most_bytes > 0) {
      database_.remove_old(oldest_ns, options_.most_bytes);
    }
  }

  // An epoch is removed as a whole, so that one alone must not fill the file.
  bool is_half_full() {
    bool is_half = false;
    attempt([&] {
      is_half = options_.most_bytes > 0 && database_.bytes() > options_.most_bytes / 2 &&
                database_.epochs().size() == 1;
    });
    return is_half;
  }

  void drain() {
    take_events();  // whose mappings the samples may need
    const Nanoseconds now_ns = monotonic_now();
    Drain drain;
    drain.recorded_ns = now_ns - std::exchange(drained_ns_, now_ns);
    drain.end_ns = realtime_now();
    const std::vector<perf::CountedPlace> counted = counts_->drain();
    read_maps_of_strangers(counted);
    for (const perf::CountedPlace& each : counted) summary_.samples += each.samples;
    const auto lose = [&drain](const char* kind, std::uint64_t count) {
      if (count > 0) drain.losses[kind] += count;
      return count;
    };
    summary_.unknown += lose("unknown", images_.add(counted, maps_, options_.label, drain.profile));
    summary_.lost += lose("unplaced", counts_->unplaced());
    const auto records = watch_.events().losses().records_lost;
    lose("records", records - std::exchange(records_lost_, records));
    drain.names = images_.take_names();
    files_.add(images_.take_new_files());
    files_.count(drain.profile);
    if (visits_) drain.visits = visits_->take();
    maps_.forget_ended();
    compiled_.forget_ended();
    summary_.lost += backlog_.add(std::move(drain));
    write();
    hooks_.show(fmt::format("{} s, {} samples", (now_ns - begin_ns_) / kSecond, summary_.samples));
  }

  // Returns whether there may be more.
  bool keep_file() {
    bool is_kept = false;
    if (options_.files) attempt([&] { is_kept = files_.keep_next(database_); });
    return is_kept;
  }

  void keep_files_until(Nanoseconds until_ns) {
    while (monotonic_now() < until_ns && keep_file()) {
    }
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
    } catch (const Error& error) {
      const std::string text = std::string(error.what()) + consequence;
      if (told_.insert(text).second) log::note("{}", text);
      return error.what();
    }
  }

  std::string write() {
    std::string failure =
        attempt([this] { backlog_.write(database_); },
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
      database_.merge();
      remove_old();
    });
  }

  // What `causalctl db` asks of the recorder.
  void answer_requests() {
    while (const auto request = database_.next_request()) {
      std::string failure;
      if (request->kind == Request::Kind::epoch) {
        begin_epoch(request->text);
        failure = write();
      } else {
        drain();
        failure = merge();
      }
      database_.finish(*request, failure);
    }
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
  std::optional<Visits> visits_;
  RecordSummary summary_;
  TimeOfDay day_;
  FileKeeper files_;
  Backlog backlog_{kMostKept};
  std::uint64_t records_lost_ = 0;
  bool is_in_memory_ = false;
  std::set<std::string> told_;  // failures since it could be written
  Nanoseconds begin_ns_ = 0, drained_ns_ = 0, merged_ns_ = 0, epoch_ns_ = 0;
};

}  // namespace

RecordSummary record(session::Watch& watch, Database& database, const RecordOptions& options,
                     const RecordHooks& hooks) {
  return Recorder(watch, database, options, hooks).run();
}

}  // namespace causalctl::continuous
