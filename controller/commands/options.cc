#include "controller/commands/options.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "config/load.h"
#include "config/text.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/number.h"

namespace causalctl::commands {

Nanoseconds time_option(const std::string& text, std::string_view option,
                        config::Limits<Nanoseconds> limits) {
  const Nanoseconds value = config::parse_duration(text, option);
  if (value < limits.low || value > limits.high) {
    throw UsageError(fmt::format("{}: must be from {} to {}, not {}", option,
                                 config::duration_text(limits.low),
                                 config::duration_text(limits.high), text));
  }
  return value;
}

double percent_option(std::string text, std::string_view option, config::Limits<double> limits) {
  if (!text.empty() && text.back() == '%') text.pop_back();
  const auto value = parse_number<double>(text);
  if (!value || !(*value >= limits.low && *value <= limits.high)) {
    throw UsageError(fmt::format("{}: must be a percentage from {} to {}, not {}", option,
                                 limits.low, limits.high, config::printable(text)));
  }
  return *value;
}

std::int64_t whole_option(const std::string& text, std::string_view option,
                          config::Limits<std::int64_t> limits) {
  const auto value = parse_number<std::int64_t>(text);
  if (!value || *value < limits.low || *value > limits.high) {
    throw UsageError(fmt::format("{}: must be a whole number from {} to {}, not {}", option,
                                 limits.low, limits.high, config::printable(text)));
  }
  return *value;
}

void merge_time_or_auto(const std::string& text, const char* option,
                        config::Limits<Nanoseconds> limits, std::optional<Nanoseconds>& into) {
  if (text == "auto") {
    into.reset();
  } else if (!text.empty()) {
    into = time_option(text, option, limits);
  }
}

// What was given on the command line, as text; empty: not given.
struct ProfileOptions::Values {
  std::string config;
  std::vector<std::string> settings, progress, latency, scope_files, scope_binaries;
  bool end_to_end = false;
  bool until_certain = false;
  std::string duration, experiment, cooloff, period, channel, pause_cost;
  std::string count_by, unit, fixed, speedup, max_slowdown, min_visits;
  std::optional<std::uint64_t> seed;
  std::string output, format;
  ConsoleOptions console;

  void add_progress(CLI::App& app, bool runs_command);
  void add_scope(CLI::App& app);
  void add_experiments(CLI::App& app);
  void add_output(CLI::App& app);

  void merge_progress(config::Progress& into) const;
  void merge_scope(config::Scope& into) const;
  void merge_experiment(config::Experiment& into) const;
  void merge_limits(config::Config& into) const;
};

void ProfileOptions::Values::add_progress(CLI::App& app, bool runs_command) {
  OptionGroup points(app, "Progress points");
  points.list(
      "--progress", progress, "SPEC",
      "a place in the code; each visit is one unit of work: file.c:210, function, binary:function, "
      "binary+0xOFFSET, usdt:provider:name, syscall:sendto, sampled:file.c:210 "
      "(repeatable)");
  points.list("--latency", latency, "NAME=BEGIN,END",
              "latency from one SPEC to another (repeatable)");
  add_count_by(points, count_by);
  if (!runs_command) return;
  points.flag("--end-to-end", end_to_end,
              "one run of the program is one unit of work; repeats the run");
}

void ProfileOptions::Values::add_scope(CLI::App& app) {
  OptionGroup scope(app, "What is sped up");
  scope.list("--scope-file", scope_files, "GLOB", "only code of these source files (repeatable)");
  scope.list("--scope-binary", scope_binaries, "GLOB",
             "only code of these binaries; MAIN is the executable, and the default (repeatable)");
  scope.value("--unit", unit, "auto|line|function",
              "what is sped up [auto: lines where there is line information, else functions]");
  scope.value("--fixed", fixed, "UNIT", "only this unit, instead of the random plan");
  scope.value("--speedup", speedup, "PERCENT",
              "with --fixed: only this speedup against its baseline");
}

void ProfileOptions::Values::add_experiments(CLI::App& app) {
  OptionGroup group(app, "Experiments");
  group.value("--duration", duration, "TIME",
              "length of the profile; default: until Ctrl-C or the target's end");
  group.value("--experiment", experiment, "TIME", "length of one experiment [500ms]");
  group.value("--cooloff", cooloff, "TIME", "rest between two experiments [10ms]");
  group.value("--min-visits", min_visits, "N",
              "experiments grow until they have so many visits [5]");
  group.value("--period", period, "TIME|auto",
              "CPU time between two samples [auto: by its measured cost]");
  group.value("--max-slowdown", max_slowdown, "PERCENT",
              "end early, cleanly, when the target is slowed down by more");
  group.flag(
      "--until-certain", until_certain,
      "end early when the hottest units are decided: their effect known, or known to be none");
  group.value("--seed", seed, "N", "makes the plan repeatable; default: random, recorded");
  group.value("--pause-channel", channel, "auto|sigtrap|ptrace", "how threads are paused [auto]");
  group.value(
      "--pause-cost", pause_cost, "TIME|auto",
      "what a pause costs its thread, besides the pause itself [auto: measured, which takes a "
      "tenth of the duration, 10s at most]");
}

void ProfileOptions::Values::add_output(CLI::App& app) {
  OptionGroup group(app, "Output");
  group.value("-o,--output", output, "FILE", "experiment log, appended to [profile.jsonl]");
  group.value("--format", format, "text|json|coz", "what to print at the end [text]");
  add_console_options(group, console);
}

void ProfileOptions::Values::merge_progress(config::Progress& into) const {
  merge_points(progress, latency, count_by, into);
  if (end_to_end) into.end_to_end = true;
}

void ProfileOptions::Values::merge_scope(config::Scope& into) const {
  if (!scope_files.empty()) into.files = scope_files;
  if (!scope_binaries.empty()) into.binaries = scope_binaries;
  if (!unit.empty()) into.unit = config::parse_unit(unit, "--unit");
}

void ProfileOptions::Values::merge_experiment(config::Experiment& into) const {
  if (!fixed.empty()) into.fixed_unit = fixed;
  if (!speedup.empty()) {
    const double value = percent_option(speedup, "--speedup", {0, 100});
    if (value != std::floor(value)) {
      throw UsageError(fmt::format("--speedup: must be a whole percentage, not {}", speedup));
    }
    into.fixed_speedup_percent = static_cast<unsigned>(value);
  }
  if (!experiment.empty()) {
    into.duration_ns = time_option(experiment, "--experiment", config::kExperimentNs);
  }
  if (!cooloff.empty()) into.cooloff_ns = time_option(cooloff, "--cooloff", config::kCooloffNs);
  if (!min_visits.empty()) {
    into.min_visits =
        static_cast<unsigned>(whole_option(min_visits, "--min-visits", config::kMinVisits));
  }
  if (seed) into.seed = seed;
}

void ProfileOptions::Values::merge_limits(config::Config& into) const {
  merge_time_or_auto(period, "--period", config::kPeriodNs, into.sampling.period_ns);
  merge_time_or_auto(pause_cost, "--pause-cost", config::kPauseCostNs, into.pause.cost_ns);
  if (!duration.empty()) {
    into.budget.duration_ns = time_option(duration, "--duration", config::kDurationNs);
  }
  if (!max_slowdown.empty()) {
    into.budget.max_slowdown_percent =
        percent_option(max_slowdown, "--max-slowdown", config::kMaxSlowdownPercent);
  }
  if (until_certain) into.budget.until_certain = true;
  if (!channel.empty()) {
    config::check_channel(channel, "--pause-channel");
    into.pause.channel = channel;
  }
}

ProfileOptions::ProfileOptions(CLI::App& app, bool runs_command)
    : values_(std::make_unique<Values>()) {
  add_word(app, "--config", values_->config, "FILE", "configuration file; the options here win");
  add_settings(app, values_->settings);
  values_->add_progress(app, runs_command);
  values_->add_scope(app);
  values_->add_experiments(app);
  values_->add_output(app);
}

ProfileOptions::~ProfileOptions() = default;

ConsoleOptions ProfileOptions::console() const { return values_->console; }

config::Config ProfileOptions::config() const {
  const Values& given = *values_;
  config::Config config = read_config(given.config, given.settings);
  given.merge_progress(config.progress);
  given.merge_scope(config.scope);
  given.merge_experiment(config.experiment);
  given.merge_limits(config);
  if (!given.output.empty()) config.output.log = given.output;
  if (!given.format.empty()) {
    config::check_format(given.format, "--format");
    config.output.format = given.format;
  }
  return config;
}

config::Config read_config(const std::string& file, const std::vector<std::string>& settings) {
  config::Config config = file.empty() ? config::Config{} : config::load(file);
  for (const std::string& each : settings) config::apply(each, "--set", config);
  return config;
}

void add_settings(CLI::App& app, std::vector<std::string>& settings) {
  OptionGroup group(app, "Configuration");
  group.list("--set", settings, "KEY=VALUE",
             "a line of a configuration file, as pause.longest='\"20ms\"' (repeatable)");
}

void add_console_options(OptionGroup& group, ConsoleOptions& console) {
  group.color(console.color);
  group.flags("--quiet", console.quiet, "only results and errors",  //
              "--verbose", console.verbose, "say what is done, on standard error");
}

void add_count_by(OptionGroup& group, std::string& count_by) {
  group.value("--count-by", count_by, "auto|breakpoint|uprobe",
              "how code points are counted [auto: by breakpoints where they were seen to fire, "
              "otherwise by uprobes]");
}

void merge_points(const std::vector<std::string>& throughput,
                  const std::vector<std::string>& latency, const std::string& count_by,
                  config::Progress& into) {
  if (!count_by.empty()) into.count_by = config::parse_count_by(count_by, "--count-by");
  if (!throughput.empty()) into.throughput = throughput;
  if (!latency.empty()) into.latency.clear();
  for (const std::string& text : latency) {
    into.latency.push_back(config::parse_latency(text, "--latency"));
  }
}

namespace {

using Json = nlohmann::ordered_json;

Json target_json(const config::Target& target) {
  Json json = Json::object();
  if (target.pid) json["pid"] = *target.pid;
  if (!target.match.empty()) json["match"] = target.match;
  if (!target.command.empty()) json["command"] = target.command;
  // The values of environment variables may be secrets, and logs are passed on.
  for (const auto& [name, value] : target.environment) json["env"].push_back(name);
  if (!target.directory.empty()) json["directory"] = target.directory;
  return json;
}

Json experiment_json(const config::Experiment& experiment) {
  Json json = {{"duration", config::duration_text(experiment.duration_ns)},
               {"cooloff", config::duration_text(experiment.cooloff_ns)},
               {"min_visits", experiment.min_visits},
               {"speedups", experiment.speedups_percent},
               {"baseline_share", experiment.baseline_share}};
  if (!experiment.pace_test) json["pace_test"] = false;
  if (experiment.seed) json["seed"] = *experiment.seed;
  if (!experiment.fixed_unit.empty()) json["fixed"] = experiment.fixed_unit;
  if (experiment.fixed_speedup_percent) json["speedup"] = *experiment.fixed_speedup_percent;
  return json;
}

Json progress_json(const config::Progress& progress) {
  Json latency = Json::array();
  for (const config::LatencyPoint& point : progress.latency) {
    latency.push_back({{"name", point.name}, {"begin", point.begin}, {"end", point.end}});
  }
  return {{"throughput", progress.throughput},
          {"latency", latency},
          {"end_to_end", progress.end_to_end},
          {"count_by", config::count_by_name(progress.count_by)}};
}

}  // namespace

std::string config_json(const config::Config& config) {
  const auto time_or_auto = [](const std::optional<Nanoseconds>& time_ns) {
    return time_ns ? config::duration_text(*time_ns) : "auto";
  };
  Json budget = Json::object();
  if (config.budget.duration_ns) {
    budget["duration"] = config::duration_text(*config.budget.duration_ns);
  }
  if (config.budget.max_slowdown_percent) {
    budget["max_slowdown"] = *config.budget.max_slowdown_percent;
  }
  if (config.budget.until_certain) budget["until_certain"] = true;
  const Json json = {
      {"target", target_json(config.target)},
      {"progress", progress_json(config.progress)},
      {"scope",
       {{"binary", config.scope.binaries},
        {"file", config.scope.files},
        {"unit", config::unit_name(config.scope.unit)}}},
      {"experiment", experiment_json(config.experiment)},
      {"sampling",
       {{"period", time_or_auto(config.sampling.period_ns)}, {"peers", config.sampling.peers}}},
      {"pause",
       {{"channel", config.pause.channel},
        {"cost", time_or_auto(config.pause.cost_ns)},
        {"longest", config::duration_text(config.pause.longest_ns)},
        {"threshold", time_or_auto(config.pause.threshold_ns)}}},
      {"budget", budget},
      {"output", {{"log", config.output.log}, {"format", config.output.format}}}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void set_target_pid(config::Config& config, Pid pid) {
  config.target.pid = pid;
  config.target.match.clear();
  config.target.command.clear();
}

void set_target_command(config::Config& config, std::vector<std::string> command) {
  config.target.pid.reset();
  config.target.match.clear();
  config.target.command = std::move(command);
}

void set_log_level(const ConsoleOptions& console) {
  using log::Level;
  log::set_level(console.quiet ? Level::quiet : console.verbose ? Level::verbose : Level::normal);
}

}  // namespace causalctl::commands
