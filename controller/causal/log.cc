// Writes the experiment log (docs/log-format.md): struct → one line → one write(2).
//
// "type" comes first in every line (ordered_json keeps the order), so that a reader can find where
// a line begins that was glued to one that a killed run left cut off.
#include "controller/causal/log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "controller/base/error.h"
#include "controller/base/output_file.h"

namespace causalctl::causal {
namespace {

using Json = nlohmann::ordered_json;

void put_unit(Json& line, const Unit& unit) {
  line["unit"] = unit.name;
  line["kind"] = unit.is_line ? "line" : "function";
  if (!unit.function.empty()) line["function"] = unit.function;
  if (!unit.file.empty()) line["file"] = unit.file;
  if (unit.line != 0) line["line"] = unit.line;
  if (unit.file.empty() && !unit.module.empty()) line["module"] = unit.module;
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

}  // namespace

LogWriter::LogWriter(const std::string& path) : path_(path) {
  if (path == "-") {
    throw UsageError("the experiment log cannot go to standard output, where the report goes",
                     "name a file with --output FILE");
  }
  fd_ = open_output(path, "name another file with --output FILE");
  if (ends_inside_line(fd_.get())) append("\n");
}

void LogWriter::run(const Run& run) {
  Json line = {{"type", "run"},
               {"version", kLogVersion},
               {"run", run.id},
               {"host", run.host},
               {"pid", run.pid},
               {"executable", run.executable},
               {"build_id", run.build_id},
               {"started_ns", run.started_ns}};
  Json config = Json::parse(run.config_json, nullptr, false);
  line["config"] = config.is_discarded() ? Json(run.config_json) : std::move(config);
  line["seed"] = run.seed;
  append(text(line));
}

void LogWriter::pacing(const Run& run) {
  for (const Pacing& pacing : run.pacing) {
    append(text({{"type", "pacing"},
                 {"run", run.id},
                 {"point", pacing.point},
                 {"held_back", pacing.held_back},
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
  line["outside_wait_ns"] = experiment.outside_wait_ns;
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
                 {"samples_total", run.losses.samples_total}}},
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
