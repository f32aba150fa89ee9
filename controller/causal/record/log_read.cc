// Reads experiment logs (docs/log-format.md). parse_log is pure; read_logs only adds the files.
//
// Tolerant where a log is merely incomplete or newer in small things (a cut-off line, an unknown
// type or field), strict where guessing would falsify results (a newer version, a wrong type).
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "controller/base/error.h"
#include "controller/causal/record/log.h"
#include "controller/causal/record/log_fields.h"

namespace causalctl::causal {
namespace {

using namespace log_fields;

constexpr std::size_t kDeepestNesting = 64;
constexpr std::string_view kLineBegin = "{\"type\":";

Unit read_unit(const Json& line) {
  Unit unit;
  std::string kind;
  get(line, "unit", unit.name);
  get(line, "kind", kind);
  get(line, "function", unit.function);
  get(line, "file", unit.file);
  get(line, "line", unit.line);
  get(line, "module", unit.module);
  unit.is_line = kind == "line";
  return unit;
}

std::vector<ThroughputCount> read_throughput(const Json& line) {
  std::vector<ThroughputCount> points;
  for (const Json& item : items(line, "throughput")) {
    ThroughputCount& point = points.emplace_back();
    get(item, "name", point.name);
    get(item, "visits", point.visits);
    get_time(item, "first_ns", point.first_ns);
    get_time(item, "last_ns", point.last_ns);
  }
  return points;
}

std::vector<LatencyCount> read_latency(const Json& line) {
  std::vector<LatencyCount> points;
  for (const Json& item : items(line, "latency")) {
    LatencyCount& point = points.emplace_back();
    get(item, "name", point.name);
    get(item, "begins", point.begins);
    get(item, "ends", point.ends);
    get(item, "in_progress_start", point.in_progress_start);
    get(item, "in_progress_end", point.in_progress_end);
    get_time(item, "mean_ns", point.mean_ns);
    get_time(item, "p50_ns", point.p50_ns);
    get_time(item, "p99_ns", point.p99_ns);
  }
  return points;
}

CoreTotals read_cores(const Json& line) {
  CoreTotals cores;
  if (const Json* object = object_field(line, "cores")) {
    get_time(*object, "cpu_ns", cores.cpu_ns);
    get_time(*object, "stranger_wait_ns", cores.stranger_wait_ns);
    get_time(*object, "visitors_cpu_ns", cores.visitors_cpu_ns);
    get(*object, "met", cores.met);
    get(*object, "ended_from_outside", cores.ended_externally);
    get(*object, "spin", cores.spin);
    get_time(*object, "coupled_cpu_ns", cores.coupled_cpu_ns);
    get_time(*object, "busiest_cpu_ns", cores.busiest_cpu_ns);
    get_time(*object, "coupled_unit_ns", cores.coupled_unit_ns);
    get_time(*object, "peers_cpu_ns", cores.peers_cpu_ns);
    get_time(*object, "quota_ns", cores.quota_ns);
    get_time(*object, "quota_stopped_ns", cores.quota_stopped_ns);
    get_time(*object, "quota_granted_ns", cores.quota_granted_ns);
    get(*object, "cores", cores.cores);
    get_time(*object, "idle_ns", cores.idle_ns);
  }
  return cores;
}

Experiment read_experiment(const Json& line) {
  Experiment experiment;
  experiment.unit = read_unit(line);
  get(line, "speedup", experiment.speedup);
  if (!(experiment.speedup >= 0 && experiment.speedup <= 1)) {
    throw BadField{"\"speedup\" is not between 0 and 1"};
  }
  get_time(line, "start_ns", experiment.start_ns);
  get_time(line, "wall_ns", experiment.wall_ns);
  get_time(line, "delay_ns", experiment.delay_ns);
  experiment.effective_ns = experiment.wall_ns - experiment.delay_ns;
  get_time(line, "effective_ns", experiment.effective_ns);
  get(line, "samples", experiment.samples);
  experiment.throughput = read_throughput(line);
  experiment.latency = read_latency(line);
  get_time(line, "runnable_wait_ns", experiment.runnable_wait_ns);
  get_time(line, "outside_wait_ns", experiment.foreign_wait_ns);
  experiment.cores = read_cores(line);
  get(line, "lost_records", experiment.lost_records);
  if (const Json* pauses = object_field(line, "pauses")) {
    get_time(*pauses, "asked_ns", experiment.asked_ns);
    get_time(*pauses, "paid_ns", experiment.paid_ns);
    get(*pauses, "count", experiment.pauses);
    get_time(*pauses, "error_ns", experiment.cost_error_ns);
  }
  get_time(line, "model_error_ns", experiment.model_error_ns);
  get(line, "discarded", experiment.discarded);
  return experiment;
}

Pacing read_pacing(const Json& line) {
  Pacing pacing;
  get(line, "point", pacing.point);
  get(line, "held_back", pacing.paused_share);
  get(line, "rate", pacing.rate);
  get(line, "low", pacing.low);
  get(line, "high", pacing.high);
  get(line, "cores_short", pacing.cores_short);
  get(line, "absorbed", pacing.absorbed);
  get(line, "absorbed_low", pacing.absorbed_low);
  get(line, "absorbed_high", pacing.absorbed_high);
  const bool good = pacing.paused_share > 0 && pacing.paused_share < 1 && pacing.low > 0 &&
                    pacing.low <= pacing.rate && pacing.rate <= pacing.high &&
                    pacing.absorbed_low <= pacing.absorbed &&
                    pacing.absorbed <= pacing.absorbed_high;
  if (!good) throw BadField{"\"held_back\", \"rate\" or \"absorbed\" is out of range"};
  return pacing;
}

std::vector<Counting> read_counting(const Json& line) {
  std::vector<Counting> all;
  const auto list = line.find("counting");
  if (list == line.end() || !list->is_array()) return all;
  for (const Json& item : *list) {
    Counting& counting = all.emplace_back();
    get(item, "point", counting.point);
    get(item, "by", counting.by);
    get_time(item, "visit_cost_ns", counting.visit_cost_ns);
  }
  return all;
}

void read_run(const Json& line, Run& run) {
  get(line, "host", run.host);
  get(line, "pid", run.pid);
  get(line, "executable", run.executable);
  get(line, "started_as", run.started_as);
  get(line, "build_id", run.build_id);
  get(line, "started_ns", run.started_ns);
  get(line, "seed", run.seed);
  run.counting = read_counting(line);
  if (const auto config = line.find("config"); config != line.end()) {
    run.config_json = config->is_string() ? config->get<std::string>() : config->dump();
  }
  if (const Json* facilities = object_field(line, "facilities")) {
    for (const auto& [name, outcome] : facilities->items()) {
      convert(outcome, name, run.facilities[name]);
    }
  }
}

void read_end(const Json& line, Run& run) {
  run.ended = true;
  get(line, "reason", run.reason);
  get_time(line, "wall_ns", run.wall_ns);
  run.cores = read_cores(line);
  get(line, "throttled", run.throttled);
  get(line, "digest", run.digest);
  if (line.contains("signal")) {
    Death& death = run.death.emplace();
    get(line, "signal", death.signal);
    get(line, "paused", death.paused);
    if (line.contains("after_pause_ns")) {
      get_time(line, "after_pause_ns", death.after_pause_ns.emplace());
    }
  }
  if (const Json* overhead = object_field(line, "overhead")) {
    const auto get_known = [&](const char* key, std::optional<double>& known) {
      if (!overhead->contains(key) || overhead->at(key).is_null()) return;
      double value = 0;
      get(*overhead, key, value);
      known = value;
    };
    get_known("slowdown", run.overhead.slowdown);
    get_known("slowdown_low", run.overhead.slowdown_low);
    get_known("slowdown_high", run.overhead.slowdown_high);
    get(*overhead, "controller_cpu_share", run.overhead.controller_cpu_share);
    get_time(*overhead, "attach_stop_ns", run.overhead.attach_stop_ns);
    get_time(*overhead, "sample_to_pause_p50_ns", run.overhead.sample_to_pause_p50_ns);
    get_time(*overhead, "sample_to_pause_p99_ns", run.overhead.sample_to_pause_p99_ns);
    get_time(*overhead, "pause_cost_ns", run.overhead.pause_cost.cost_ns);
    get_time(*overhead, "pause_cost_error_ns", run.overhead.pause_cost.error_ns);
    get_time(*overhead, "pause_cost_length_ns", run.overhead.pause_cost.length_ns);
    get_time(*overhead, "period_ns", run.overhead.period_ns);
  }
  if (const Json* losses = object_field(line, "losses")) {
    get(*losses, "records_lost", run.losses.records_lost);
    get(*losses, "stacks_truncated", run.losses.stacks_truncated);
    get(*losses, "samples_unknown", run.losses.samples_unknown);
    get(*losses, "samples_total", run.losses.samples_total);
    get(*losses, "throttles", run.losses.throttles);
    get(*losses, "stacks_copied_in_part", run.losses.stacks_copied_in_part);
  }
  if (const Json* calls = object_field(line, "stopped_calls")) {
    get(*calls, "continued", run.stopped_calls.continued);
    get(*calls, "repeated", run.stopped_calls.repeated);
    get(*calls, "broken", run.stopped_calls.broken);
    if (calls->contains("shortened")) get(*calls, "shortened", run.stopped_calls.shortened);
  }
  const auto get_texts = [&](const char* key, std::vector<std::string>& texts) {
    texts.clear();
    for (const Json& text : line.value(key, Json::array())) {
      convert(text, key, texts.emplace_back());
    }
  };
  get_texts("warnings", run.warnings);
  get_texts("peers", run.peers);
}

// In place of one of the same name that was read before.
template <typename Item, typename Name>
void keep(std::vector<Item>& all, Item item, Name name) {
  const auto same = std::find_if(all.begin(), all.end(), [&](const Item& other) {
    return std::invoke(name, other) == std::invoke(name, item);
  });
  if (same != all.end()) {
    *same = std::move(item);
  } else {
    all.push_back(std::move(item));
  }
}

class Reader {
 public:
  void read(const std::string& text, const std::string& name);
  ReadLog take();

 private:
  void read_line(std::string_view line, bool last);
  std::optional<Json> parse(std::string_view line, bool last);
  void dispatch(const Json& line, std::string_view text);
  [[noreturn]] void refuse_line() const;
  Run& run_of(const Json& line);
  std::string where() const { return fmt::format("{}:{}", name_, line_); }
  // Sums of any of them are sound then. Throws BadField.
  void add_time(Nanoseconds time_ns) {
    times_ns_ += std::abs(time_ns);
    if (times_ns_ > kLongestSum) throw BadField{"the times add up to more than a century"};
  }
  void warn(std::string_view text) {
    log_.warnings.push_back(fmt::format("{}: {}", where(), text));
  }

  ReadLog log_;
  std::map<std::string, std::size_t> index_;        // run id → log_.runs
  std::map<std::string, std::string> heads_;        // run id → its "run" line
  std::set<std::string, std::less<>> experiments_;  // lines seen
  std::set<std::string> unknown_types_;
  std::uint64_t repeated_ = 0;
  Nanoseconds times_ns_ = 0;
  std::string name_;
  std::uint64_t line_ = 0;
};

void Reader::read(const std::string& text, const std::string& name) {
  name_ = name;
  line_ = 0;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    const bool last = end == std::string::npos;
    std::string_view line(text.data() + begin, (last ? text.size() : end) - begin);
    ++line_;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (!line.empty()) read_line(line, last);
    if (last) break;
    begin = end + 1;
  }
}

void Reader::refuse_line() const {
  throw Error(fmt::format("{}: not a line of an experiment log", where()),
              "causalctl report reads what attach and run wrote (docs/log-format.md)");
}

// What a killed run left may stand alone, or have the next log's first line glued to it by cat.
std::optional<Json> Reader::parse(std::string_view line, bool last) {
  if (nesting(line) > kDeepestNesting) {
    throw Error(fmt::format("{}: lists nested more than {} deep", where(), kDeepestNesting),
                "causalctl report reads what attach and run wrote (docs/log-format.md)");
  }
  Json json = Json::parse(line, nullptr, false);
  if (json.is_object()) return json;
  const bool ours = line.substr(0, kLineBegin.size()) == kLineBegin.substr(0, line.size());
  if (!ours && !(last && line.front() == '{')) {
    refuse_line();
  }
  const std::size_t glued = line.rfind(kLineBegin);
  if (glued != 0 && glued != std::string_view::npos) {
    json = Json::parse(line.substr(glued), nullptr, false);
    if (json.is_object()) {
      warn("begins with a line that was cut off; that part is ignored");
      return json;
    }
  }
  warn("cut off, ignored");
  return std::nullopt;
}

void Reader::read_line(std::string_view line, bool last) {
  const std::optional<Json> json = parse(line, last);
  if (!json) return;
  try {
    dispatch(*json, line);
  } catch (const BadField& fault) {
    throw Error(fmt::format("{}: {}", where(), fault.text), "the log was changed or damaged");
  } catch (const Json::exception& fault) {
    throw Error(fmt::format("{}: {}", where(), fault.what()), "the log was changed or damaged");
  }
}

void Reader::dispatch(const Json& line, std::string_view text) {
  std::string type;
  get(line, "type", type);
  if (type.empty()) refuse_line();
  if (type == "run") {
    int version = 0;
    get(line, "version", version);
    if (version > kLogVersion) {
      throw Error(fmt::format("{}: log version {} is newer than {}, which this program reads",
                              where(), version, kLogVersion),
                  "use a newer causalctl to read it");
    }
    Run& run = run_of(line);
    if (const auto [head, is_new] = heads_.emplace(run.id, text); !is_new && head->second != text) {
      throw BadField{"another run has this id"};
    }
    read_run(line, run);
  } else if (type == "experiment") {
    if (!experiments_.emplace(text).second) {
      ++repeated_;
      return;
    }
    Experiment experiment = read_experiment(line);
    for (const Nanoseconds time_ns : {experiment.wall_ns,
                                      experiment.delay_ns,
                                      experiment.effective_ns,
                                      experiment.asked_ns,
                                      experiment.paid_ns,
                                      experiment.cost_error_ns,
                                      experiment.model_error_ns,
                                      experiment.runnable_wait_ns,
                                      experiment.foreign_wait_ns,
                                      experiment.cores.cpu_ns,
                                      experiment.cores.stranger_wait_ns,
                                      experiment.cores.visitors_cpu_ns,
                                      experiment.cores.coupled_cpu_ns,
                                      experiment.cores.busiest_cpu_ns,
                                      experiment.cores.coupled_unit_ns,
                                      experiment.cores.peers_cpu_ns,
                                      experiment.cores.quota_ns,
                                      experiment.cores.quota_stopped_ns,
                                      experiment.cores.quota_granted_ns,
                                      experiment.cores.idle_ns}) {
      add_time(time_ns);
    }
    run_of(line).experiments.push_back(std::move(experiment));
  } else if (type == "pacing") {
    keep(run_of(line).pacing, read_pacing(line), &Pacing::point);
  } else if (type == "samples") {
    UnitSamples samples;
    samples.unit = read_unit(line);
    get(line, "count", samples.count);
    get(line, "baseline_count", samples.baseline_count);
    get(line, "inherited", samples.inherited);
    keep(run_of(line).samples, std::move(samples),
         [](const UnitSamples& each) { return each.unit.name; });
  } else if (type == "end") {
    Run& run = run_of(line);
    read_end(line, run);
    add_time(run.wall_ns);
  } else if (unknown_types_.insert(type).second) {
    warn(fmt::format("lines of type \"{}\" are not known here, ignored", type));
  }
}

Run& Reader::run_of(const Json& line) {
  std::string id;
  get(line, "run", id);
  const auto [entry, is_new] = index_.emplace(id, log_.runs.size());
  if (is_new) log_.runs.emplace_back().id = id;
  return log_.runs[entry->second];
}

ReadLog Reader::take() {
  for (const Run& run : log_.runs) {
    if (!heads_.contains(run.id)) {
      log_.warnings.push_back(fmt::format("run {}: its first line is missing", run.id));
    }
  }
  if (repeated_ > 0) {
    log_.warnings.push_back(
        fmt::format("{} experiments were given twice and count once", repeated_));
  }
  return std::move(log_);
}

std::string read_file(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    throw Error::from_errno(fmt::format("open({})", path), errno,
                            "name experiment logs, as written by attach and run (--output)");
  }
  std::string text;
  std::vector<char> buffer(1 << 16);
  while (true) {
    const ssize_t count = ::read(fd.get(), buffer.data(), buffer.size());
    if (count == 0) return text;
    if (count > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      throw Error::from_errno(fmt::format("read({})", path), errno);
    }
  }
}

}  // namespace

ReadLog read_logs(const std::vector<std::string>& paths) {
  Reader reader;
  for (const std::string& path : paths) reader.read(read_file(path), path);
  return reader.take();
}

ReadLog parse_log(const std::string& text, const std::string& name) {
  Reader reader;
  reader.read(text, name);
  return reader.take();
}

}  // namespace causalctl::causal
