// Writes the experiment log (docs/log-format.md): struct → one line → one write(2).
//
// "type" comes first in every line (ordered_json keeps the order), so that a reader can find where
// a line begins that was glued to one that a killed run left cut off.
#include "controller/causal/record/log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "controller/base/error.h"
#include "controller/base/output_file.h"

namespace causalctl::causal {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kAnother = "name another file with --output FILE";

void put_unit(Json& line, const Unit& unit) {
  line["unit"] = unit.name;
  line["kind"] = unit.is_line ? "line" : "function";
  if (!unit.function.empty()) line["function"] = unit.function;
  if (!unit.file.empty()) line["file"] = unit.file;
  if (unit.line != 0) line["line"] = unit.line;
  if (unit.file.empty() && !unit.module.empty()) line["module"] = unit.module;
}

Json cores_json(const CoreTotals& cores) {
  return {{"cpu_ns", cores.cpu_ns},
          {"stranger_wait_ns", cores.stranger_wait_ns},
          {"visitors_cpu_ns", cores.visitors_cpu_ns},
          {"met", cores.met},
          {"ended_from_outside", cores.ended_externally},
          {"spin", cores.spin},
          {"coupled_cpu_ns", cores.coupled_cpu_ns},
          {"busiest_cpu_ns", cores.busiest_cpu_ns},
          {"coupled_unit_ns", cores.coupled_unit_ns},
          {"peers_cpu_ns", cores.peers_cpu_ns},
          {"quota_ns", cores.quota_ns},
          {"quota_stopped_ns", cores.quota_stopped_ns},
          {"quota_granted_ns", cores.quota_granted_ns},
          {"cores", cores.cores},
          {"idle_ns", cores.idle_ns}};
}

Json throughput_json(const Experiment& experiment) {
  Json all = Json::array();
  for (const ThroughputCount& point : experiment.throughput) {
    all.push_back({{"name", point.name},
                   {"visits", point.visits},
                   {"first_ns", point.first_ns},
                   {"last_ns", point.last_ns}});
  }
  return all;
}

Json latency_json(const Experiment& experiment) {
  Json all = Json::array();
  for (const LatencyCount& point : experiment.latency) {
    all.push_back({{"name", point.name},
                   {"begins", point.begins},
                   {"ends", point.ends},
                   {"in_progress_start", point.in_progress_start},
                   {"in_progress_end", point.in_progress_end},
                   {"mean_ns", point.mean_ns},
                   {"p50_ns", point.p50_ns},
                   {"p99_ns", point.p99_ns}});
  }
  return all;
}

// File names and symbols of the target need not be UTF-8: what is not becomes U+FFFD.
std::string text(const Json& line) {
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

bool is_regular(int fd, off_t* size) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  *size = status.st_size;
  return true;
}

// Whether a killed run left a line without its end.
bool ends_inside_line(int fd) {
  off_t size = 0;
  if (!is_regular(fd, &size) || size == 0) return false;
  const Fd reader(::open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_RDONLY | O_CLOEXEC));
  char last = 0;
  if (!reader || ::pread(reader.get(), &last, 1, size - 1) != 1) return true;  // a blank line is ok
  return last != '\n';
}

// What a log can begin with: a line of ours, or what a full disk has left of one.
bool begins_as_log(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of("\r\n"), text.size()));
  static constexpr std::string_view kTypes[] = {"run", "experiment", "pacing", "samples", "end"};
  return std::any_of(std::begin(kTypes), std::end(kTypes), [&](std::string_view type) {
    const std::string begin = fmt::format("{{\"type\":\"{}\"", type);
    return text.substr(0, begin.size()) == std::string_view(begin).substr(0, text.size());
  });
}

void check_content(const std::string& path) {
  const Fd reader(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!reader) throw Error::from_errno(fmt::format("open({})", path), errno, kAnother);
  std::string text(64, '\0');
  const ssize_t count = ::pread(reader.get(), text.data(), text.size(), 0);
  if (count < 0) throw Error::from_errno(fmt::format("read({})", path), errno, kAnother);
  text.resize(static_cast<std::size_t>(count));
  if (begins_as_log(text)) return;
  throw UsageError(fmt::format("{} is not an experiment log, so none is appended to it", path),
                   kAnother);
}

// Of a file that is not there yet.
void check_directory(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (::faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    throw Error::from_errno(fmt::format("open({})", path), errno, kAnother);
  }
}

}  // namespace

void check_log(const std::string& path) {
  if (path == "-") {
    throw UsageError("the experiment log cannot go to standard output, where the report goes",
                     "name a file with --output FILE");
  }
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno != ENOENT || path.empty()) {
      throw Error::from_errno(fmt::format("open({})", path), errno, kAnother);
    }
    return check_directory(path);
  }
  if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode) && !S_ISCHR(status.st_mode)) {
    throw Error(fmt::format("{} is {}, and an experiment log is a file", path,
                            S_ISDIR(status.st_mode) ? "a directory" : "a pipe, socket or disk"),
                kAnother);
  }
  open_output(path, kAnother);  // it is there: nothing is created
  if (S_ISREG(status.st_mode) && status.st_size > 0) check_content(path);
}

LogWriter::LogWriter(const std::string& path) : path_(path) {
  check_log(path);
  fd_ = open_output(path, kAnother);
  if (ends_inside_line(fd_.get())) append("\n");
}

void LogWriter::run(const Run& run) {
  Json line = {{"type", "run"},
               {"version", kLogVersion},
               {"run", run.id},
               {"host", run.host},
               {"pid", run.pid},
               {"executable", run.executable},
               {"started_as", run.started_as},
               {"build_id", run.build_id},
               {"started_ns", run.started_ns}};
  Json config = Json::parse(run.config_json, nullptr, false);
  line["config"] = config.is_discarded() ? Json(run.config_json) : std::move(config);
  line["seed"] = run.seed;
  for (const Counting& counting : run.counting) {
    line["counting"].push_back({{"point", counting.point},
                                {"by", counting.by},
                                {"visit_cost_ns", counting.visit_cost_ns}});
  }
  line["facilities"] = run.facilities;
  append(text(line));
}

void LogWriter::pacing(const Run& run) {
  for (const Pacing& pacing : run.pacing) {
    append(text({{"type", "pacing"},
                 {"run", run.id},
                 {"point", pacing.point},
                 {"held_back", pacing.paused_share},
                 {"rate", pacing.rate},
                 {"low", pacing.low},
                 {"high", pacing.high},
                 {"cores_short", pacing.cores_short},
                 {"absorbed", pacing.absorbed},
                 {"absorbed_low", pacing.absorbed_low},
                 {"absorbed_high", pacing.absorbed_high}}));
  }
}

void LogWriter::experiment(const Run& run, const Experiment& experiment) {
  Json line = {{"type", "experiment"}, {"run", run.id}};
  put_unit(line, experiment.unit);
  line["speedup"] = experiment.speedup;
  line["start_ns"] = experiment.start_ns;
  line["wall_ns"] = experiment.wall_ns;
  line["delay_ns"] = experiment.delay_ns;
  line["effective_ns"] = experiment.effective_ns;
  line["samples"] = experiment.samples;
  line["throughput"] = throughput_json(experiment);
  line["latency"] = latency_json(experiment);
  line["runnable_wait_ns"] = experiment.runnable_wait_ns;
  line["outside_wait_ns"] = experiment.foreign_wait_ns;
  line["cores"] = cores_json(experiment.cores);
  line["lost_records"] = experiment.lost_records;
  line["pauses"] = {{"asked_ns", experiment.asked_ns},
                    {"paid_ns", experiment.paid_ns},
                    {"count", experiment.pauses},
                    {"error_ns", experiment.cost_error_ns}};
  line["model_error_ns"] = experiment.model_error_ns;
  if (!experiment.discarded.empty()) line["discarded"] = experiment.discarded;
  append(text(line));
}

void LogWriter::samples(const Run& run, const UnitSamples& samples) {
  Json line = {{"type", "samples"}, {"run", run.id}};
  put_unit(line, samples.unit);
  line["count"] = samples.count;
  line["baseline_count"] = samples.baseline_count;
  line["inherited"] = samples.inherited;
  append(text(line));
}

void LogWriter::end(const Run& run) {
  Json overhead = {{"controller_cpu_share", run.overhead.controller_cpu_share},
                   {"attach_stop_ns", run.overhead.attach_stop_ns},
                   {"sample_to_pause_p50_ns", run.overhead.sample_to_pause_p50_ns},
                   {"sample_to_pause_p99_ns", run.overhead.sample_to_pause_p99_ns},
                   {"pause_cost_ns", run.overhead.pause_cost.cost_ns},
                   {"pause_cost_error_ns", run.overhead.pause_cost.error_ns},
                   {"pause_cost_length_ns", run.overhead.pause_cost.length_ns},
                   {"period_ns", run.overhead.period_ns}};
  if (run.overhead.slowdown) overhead["slowdown"] = *run.overhead.slowdown;
  if (run.overhead.slowdown_low) overhead["slowdown_low"] = *run.overhead.slowdown_low;
  if (run.overhead.slowdown_high) overhead["slowdown_high"] = *run.overhead.slowdown_high;
  Json line = {{"type", "end"},
               {"run", run.id},
               {"reason", run.reason},
               {"wall_ns", run.wall_ns},
               {"overhead", overhead},
               {"losses",
                {{"records_lost", run.losses.records_lost},
                 {"stacks_truncated", run.losses.stacks_truncated},
                 {"samples_unknown", run.losses.samples_unknown},
                 {"samples_total", run.losses.samples_total},
                 {"throttles", run.losses.throttles},
                 {"stacks_copied_in_part", run.losses.stacks_copied_in_part}}},
               {"cores", cores_json(run.cores)},
               {"throttled", run.throttled},
               {"digest", run.digest},
               {"stopped_calls",
                {{"continued", run.stopped_calls.continued},
                 {"repeated", run.stopped_calls.repeated},
                 {"broken", run.stopped_calls.broken},
                 {"shortened", run.stopped_calls.shortened}}},
               {"peers", run.peers},
               {"warnings", run.warnings}};
  if (run.death) line["signal"] = run.death->signal;
  if (run.death && run.death->after_pause_ns) {
    line["after_pause_ns"] = *run.death->after_pause_ns;
    line["paused"] = run.death->paused;
  }
  append(text(line));
}

void LogWriter::append(const std::string& line) {
  off_t end_before = 0;
  const bool regular = is_regular(fd_.get(), &end_before);
  std::size_t written = 0;
  int error = 0;
  while (written < line.size() && error == 0) {
    const ssize_t count = ::write(fd_.get(), line.data() + written, line.size() - written);
    if (count > 0) {
      written += static_cast<std::size_t>(count);
    } else if (count == 0) {
      error = EIO;
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (error == 0) return;

  // Only what is certainly ours is cut off: another run may append to the same file.
  off_t end_now = 0;
  if (written > 0 && regular && is_regular(fd_.get(), &end_now) &&
      end_now == end_before + static_cast<off_t>(written)) {
    // Where even this fails the reader ignores the cut-off line.
    [[maybe_unused]] const int result = ::ftruncate(fd_.get(), end_before);
  }
  if (failed()) return;
  failed_ = true;
  throw Error::from_errno(fmt::format("write({})", path_), error,
                          "what was written before can still be read: causalctl report " + path_);
}

void write_or_end(Run& run, const std::function<void()>& write) {
  try {
    write();
  } catch (const Error& error) {
    run.reason = "log-failed";
    if (!run.log_failure.empty()) return;
    run.log_failure = error.what();
    run.warnings.emplace_back(error.what());
  }
}

}  // namespace causalctl::causal
