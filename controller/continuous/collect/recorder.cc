#include "controller/continuous/collect/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"
#include "controller/continuous/collect/image_table.h"
#include "controller/continuous/collect/kernel_code.h"
#include "controller/continuous/collect/process_maps.h"
#include "controller/continuous/collect/rate.h"
#include "controller/perf/core_counts.h"
#include "controller/symbols/perf_map.h"
#include "unwind/modules/mapped_file.h"
#include "unwind/modules/module_file.h"

namespace causalctl::continuous {
namespace {

constexpr Nanoseconds kLookEvery = 100 * kMillisecond;  // at births and mappings
constexpr Nanoseconds kNamesPatience = 50 * kMillisecond;
// Samples that cannot be written are kept up to so many places.
constexpr std::size_t kMostKept = 500'000;

std::size_t places_of(const Profile& profile) {
  std::size_t places = 0;
  for (const auto& [key, counts] : profile) places += counts.size();
  return places;
}

// Reads what a process calls the code that it makes, as far as that takes little time.
class CompiledNames {
 public:
  std::string at(Pid process, Address address) {
    const auto [known, is_new] = files_.try_emplace(process, process);
    symbols::PerfMapFile& file = known->second;
    const auto* function = file.map().find(address);
    if (function == nullptr && read_now_.insert(process).second) {
      const Nanoseconds until_ns = monotonic_now() + kNamesPatience;
      while (file.read_on() && monotonic_now() < until_ns) {
      }
      function = file.map().find(address);
    }
    return function == nullptr ? std::string() : function->name;
  }
  // After each drain.
  void forget_ended() {
    read_now_.clear();
    std::erase_if(files_, [](const auto& each) { return procfs::has_ended(each.first); });
  }

 private:
  std::map<Pid, symbols::PerfMapFile> files_;
  std::set<Pid> read_now_;
};

class Recorder {
 public:
  Recorder(session::Watch& watch, Database& database, const RecordOptions& options,
           const RecordHooks& hooks)
      : watch_(watch),
        database_(database),
        options_(options),
        hooks_(hooks),
        images_(read_kernel_code(), sources()) {
    summary_.sample_cost_ns = perf::measure_sample_cost();
    summary_.period_ns = options.period_ns > 0
                             ? options.period_ns
                             : period_for(summary_.sample_cost_ns, options.budget);
    perf::Session& events =
        watch.open({.sampling = false, .wake_edges = false, .peers = false, .tasks = true});
    counts_.emplace(options.all ? nullptr : events.process_bits(), watch.set().takes_children(),
                    summary_.period_ns, options.seed);
  }

  RecordSummary run() {
    epoch_ = database_.begin_epoch("", realtime_now());
    remove_old();
    watch_.events().start();
    counts_->enable(true);
    begin_ns_ = drained_ns_ = merged_ns_ = epoch_ns_ = monotonic_now();
    const Nanoseconds cpu_ns = process_cpu_now();
    while (!hooks_.is_over() && !watch_.is_over()) {
      sleep_until(monotonic_now() + kLookEvery);
      take_events();
      do_at_times(monotonic_now());
    }
    drain();
    merge();
    summary_.recorded_ns = drained_ns_ - begin_ns_;
    summary_.cpu_share = static_cast<double>(process_cpu_now() - cpu_ns) /
                         static_cast<double>(std::max<Nanoseconds>(1, summary_.recorded_ns));
    return summary_;
  }

 private:
  ImageSources sources() {
    ImageSources sources;
    sources.build_id = [](Pid process, const std::string& path) {
      return unwind::open_module_file(fmt::format("/proc/{}/root{}", process, path)).build_id;
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
    if (now_ns - drained_ns_ >= options_.drain_ns) drain();
    if (now_ns - merged_ns_ >= options_.merge_ns) merge();
    if (now_ns - epoch_ns_ >= options_.epoch_ns) begin_epoch("");
    answer_requests();
  }

  void begin_epoch(const std::string& name) {
    drain();
    merge();
    epoch_ = database_.begin_epoch(name, realtime_now());
    epoch_ns_ = monotonic_now();
    remove_old();
  }

  void remove_old() {
    if (options_.keep_ns <= 0 && options_.most_bytes == 0) return;
    const std::int64_t oldest_ns = options_.keep_ns > 0 ? realtime_now() - options_.keep_ns : 0;
    database_.remove_old(oldest_ns, options_.most_bytes);
  }

  void drain() {
    take_events();  // whose mappings the samples may need
    const Nanoseconds now_ns = monotonic_now();
    kept_.recorded_ns += now_ns - std::exchange(drained_ns_, now_ns);
    kept_.end_ns = realtime_now();
    const std::vector<perf::CountedPlace> counted = counts_->drain();
    for (const perf::CountedPlace& each : counted) summary_.samples += each.samples;
    const std::uint64_t unknown = images_.add(counted, maps_, options_.label, kept_.profile);
    lose("unknown", unknown);
    summary_.unknown += unknown;
    const std::uint64_t unplaced = counts_->unplaced();
    lose("unplaced", unplaced);
    summary_.lost += unplaced;
    const auto records = watch_.events().losses().records_lost;
    if (records != records_lost_) lose("records", records - std::exchange(records_lost_, records));
    for (auto& [image, names] : images_.take_names()) kept_.names[image].merge(names);
    maps_.forget_ended();
    compiled_.forget_ended();
    write();
    hooks_.show(fmt::format("{} s, {} samples", (now_ns - begin_ns_) / kSecond, summary_.samples));
  }

  void lose(const char* kind, std::uint64_t count) {
    if (count > 0) kept_.losses[kind] += count;
  }

  // What could not be written is tried again with the next drain.
  void write() {
    try {
      database_.add(epoch_, kept_);
      kept_ = {};
      if (std::exchange(is_in_memory_, false)) log::note("{}: is written again", database_.file());
    } catch (const Error& error) {
      if (!std::exchange(is_in_memory_, true)) {
        log::note("{}; what is recorded is kept in memory until it can be written", error.what());
      }
      if (places_of(kept_.profile) > kMostKept) drop_kept();
    }
  }

  void drop_kept() {
    std::uint64_t samples = 0;
    for (const auto& [key, counts] : kept_.profile) samples += sum_of(counts).samples;
    kept_.profile.clear();
    lose("not written", samples);
    summary_.lost += samples;
  }

  void merge() {
    merged_ns_ = monotonic_now();
    try {
      database_.merge();
    } catch (const Error& error) {
      log::note("{}", error.what());
    }
  }

  // What `causalctl db` asks of the recorder.
  void answer_requests() {
    while (const auto request = database_.next_request()) {
      if (request->kind == Request::Kind::epoch) {
        begin_epoch(request->text);
      } else {
        drain();
        merge();
      }
      database_.finish(*request);
    }
  }

  session::Watch& watch_;
  Database& database_;
  const RecordOptions& options_;
  const RecordHooks& hooks_;
  CompiledNames compiled_;
  ImageTable images_;
  ProcessMaps maps_;
  std::optional<perf::CoreCounts> counts_;
  RecordSummary summary_;
  std::int64_t epoch_ = 0;
  Drain kept_;  // that is not written yet
  std::uint64_t records_lost_ = 0;
  bool is_in_memory_ = false;
  Nanoseconds begin_ns_ = 0, drained_ns_ = 0, merged_ns_ = 0, epoch_ns_ = 0;
};

}  // namespace

RecordSummary record(session::Watch& watch, Database& database, const RecordOptions& options,
                     const RecordHooks& hooks) {
  return Recorder(watch, database, options, hooks).run();
}

}  // namespace causalctl::continuous
