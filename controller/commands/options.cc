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

namespace causalctl::commands {
namespace {

CLI::Option* add_list(CLI::App& app, const char* name, std::vector<std::string>& values,
                      const char* text) {
  return app.add_option(name, values, text)
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace

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
  double value = -1;
  const bool is_number = CLI::detail::lexical_cast(text, value);
  if (!is_number || !(value >= limits.low && value <= limits.high)) {
    throw UsageError(fmt::format("{}: must be a percentage from {} to {}, not {}", option,
                                 limits.low, limits.high, config::printable(text)));
  }
  return value;
}

// What was given on the command line, as text; empty: not given.
struct ProfileOptions::Values {
  std::string config;
  std::vector<std::string> progress, latency, scope_files, scope_binaries;
  bool end_to_end = false;
  bool until_certain = false;
  std::string duration, experiment, cooloff, period, channel;
  std::string unit, fixed, speedup, max_slowdown;
  std::optional<std::int64_t> min_visits;
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
  const std::string group = "Progress points";
  add_list(app, "--progress", progress,
           "what one visit of is a unit of work: file.c:210, function, binary:function, "
           "binary+0xOFFSET, usdt:provider:name, syscall:sendto, sampled:file.c:210 (repeatable)")
      ->type_name("SPEC")
      ->group(group);
  add_list(app, "--latency", latency, "latency from one SPEC to another (repeatable)")
      ->type_name("NAME=BEGIN,END")
      ->group(group);
  if (!runs_command) return;
  app.add_flag("--end-to-end", end_to_end,
               "one run of the program is one unit of work; repeats the run")
      ->group(group);
}

void ProfileOptions::Values::add_scope(CLI::App& app) {
  const std::string group = "What is sped up";
  add_list(app, "--scope-file", scope_files, "only code of these source files (repeatable)")
      ->type_name("GLOB")
      ->group(group);
  add_list(app, "--scope-binary", scope_binaries,
           "only code of these binaries; MAIN is the executable, and the default (repeatable)")
      ->type_name("GLOB")
      ->group(group);
  app.add_option(
         "--unit", unit,
         "what is sped up; by default lines where there is line information, else functions")
      ->check(CLI::IsMember({"line", "function"}).description(""))
      ->type_name("line|function")
      ->group(group);
  app.add_option("--fixed", fixed, "only this unit, instead of the random plan")
      ->type_name("UNIT")
      ->group(group);
  app.add_option("--speedup", speedup, "with --fixed: only this speedup against its baseline")
      ->type_name("PERCENT")
      ->group(group);
}

void ProfileOptions::Values::add_experiments(CLI::App& app) {
  const std::string group = "Experiments";
  const auto add = [&](const char* name, auto& value, const char* type, const char* text) {
    return app.add_option(name, value, text)->type_name(type)->group(group);
  };
  add("--duration", duration, "TIME", "length of the profile; default: until Ctrl-C");
  add("--experiment", experiment, "TIME", "length of one experiment [500ms]");
  add("--cooloff", cooloff, "TIME", "rest between two experiments [10ms]");
  add("--min-visits", min_visits, "N", "experiments grow until they have so many visits [5]");
  add("--period", period, "TIME|auto", "CPU time between two samples [auto: by its measured cost]");
  add("--max-slowdown", max_slowdown, "PERCENT", "end early, cleanly, beyond it");
  app.add_flag(
         "--until-certain", until_certain,
         "end early when the hottest units are decided: their effect known, or known to be none")
      ->group(group);
  add("--seed", seed, "N", "makes the plan repeatable; default: random, recorded")
      ->check(CLI::NonNegativeNumber)  // or -1 would be taken, for 2^64 - 1
      ->type_name("N");
  add("--pause-channel", channel, "auto|sigtrap|ptrace", "how threads are paused [auto]");
}

void ProfileOptions::Values::add_output(CLI::App& app) {
  const std::string group = "Output";
  app.add_option("-o,--output", output, "experiment log, appended to [profile.jsonl]")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--format", format, "what to print at the end [text]")
      ->type_name("text|json|coz")
      ->group(group);
  add_color_option(app, console.color);
  auto* quiet = app.add_flag("--quiet", console.quiet, "only results and errors")->group(group);
  app.add_flag("--verbose", console.verbose, "say what is done, on standard error")
      ->excludes(quiet)
      ->group(group);
}

void ProfileOptions::Values::merge_progress(config::Progress& into) const {
  if (!progress.empty()) into.throughput = progress;
  if (!latency.empty()) into.latency.clear();
  for (const std::string& text : latency) {
    into.latency.push_back(config::parse_latency(text, "--latency"));
  }
  if (end_to_end) into.end_to_end = true;
}

void ProfileOptions::Values::merge_scope(config::Scope& into) const {
  if (!scope_files.empty()) into.files = scope_files;
  if (!scope_binaries.empty()) into.binaries = scope_binaries;
  if (!unit.empty()) into.unit = unit == "line" ? config::Unit::line : config::Unit::function;
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
  if (min_visits) {
    if (*min_visits < config::kMinVisits.low || *min_visits > config::kMinVisits.high) {
      throw UsageError(fmt::format("--min-visits: must be from {} to {}, not {}",
                                   config::kMinVisits.low, config::kMinVisits.high, *min_visits));
    }
    into.min_visits = static_cast<unsigned>(*min_visits);
  }
  if (seed) into.seed = seed;
}

void ProfileOptions::Values::merge_limits(config::Config& into) const {
  if (period == "auto") {
    into.sampling.period_ns.reset();
  } else if (!period.empty()) {
    into.sampling.period_ns = time_option(period, "--period", config::kPeriodNs);
  }
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
  app.add_option("--config", values_->config, "configuration file; the options here win")
      ->type_name("FILE");
  values_->add_progress(app, runs_command);
  values_->add_scope(app);
  values_->add_experiments(app);
  values_->add_output(app);
}

ProfileOptions::~ProfileOptions() = default;

ConsoleOptions ProfileOptions::console() const { return values_->console; }

config::Config ProfileOptions::config() const {
  const Values& given = *values_;
  config::Config config = given.config.empty() ? config::Config{} : config::load(given.config);
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

CLI::Option* add_pid(CLI::App& app, Pid& pid, const std::string& text) {
  const auto problem = [](const std::string& given) {
    Pid value = 0;
    const bool ok = CLI::detail::lexical_cast(given, value) && value > 0;
    return ok ? std::string() : fmt::format("{} is not a process id", config::printable(given));
  };
  return app.add_option("PID", pid, text)->check(CLI::Validator(problem, ""));
}

void add_color_option(CLI::App& app, Color& color) {
  const auto set = [&color](const std::string& text) {
    color = text == "always" ? Color::always : text == "never" ? Color::never : Color::automatic;
  };
  app.add_option_function<std::string>("--color", set, "color in the text report [auto]")
      ->check(CLI::IsMember({"auto", "always", "never"}).description(""))
      ->type_name("auto|always|never")
      ->group("Output");
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
          {"end_to_end", progress.end_to_end}};
}

}  // namespace

std::string config_json(const config::Config& config) {
  static constexpr const char* kUnits[] = {"auto", "line", "function"};
  const auto& period_ns = config.sampling.period_ns;
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
        {"unit", kUnits[static_cast<std::size_t>(config.scope.unit)]}}},
      {"experiment", experiment_json(config.experiment)},
      {"sampling", {{"period", period_ns ? config::duration_text(*period_ns) : "auto"}}},
      {"pause",
       {{"channel", config.pause.channel},
        {"longest", config::duration_text(config.pause.longest_ns)}}},
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
