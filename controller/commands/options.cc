#include "controller/commands/options.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "config/load.h"
#include "config/text.h"
#include "controller/base/error.h"
#include "controller/base/log.h"

namespace causalctl::commands {
namespace {

Nanoseconds duration(const std::string& text, std::string_view option,
                     config::Limits<Nanoseconds> limits) {
  const Nanoseconds value = config::parse_duration(text, option);
  if (value < limits.low || value > limits.high) {
    throw UsageError(fmt::format("{}: must be from {} to {}, not {}", option,
                                 config::duration_text(limits.low),
                                 config::duration_text(limits.high), text));
  }
  return value;
}

// "20" and "20%" alike.
double percent(std::string text, std::string_view option, config::Limits<double> limits) {
  if (!text.empty() && text.back() == '%') text.pop_back();
  double value = -1;
  const bool is_number = CLI::detail::lexical_cast(text, value);
  if (!is_number || !(value >= limits.low && value <= limits.high)) {
    throw UsageError(fmt::format("{}: must be a percentage from {} to {}, not {}", option,
                                 limits.low, limits.high, config::printable(text)));
  }
  return value;
}

}  // namespace

// What was given on the command line, as text; empty: not given.
struct ProfileOptions::Values {
  std::string config;
  std::vector<std::string> progress, latency, scope_files, scope_binaries;
  bool end_to_end = false;
  std::string duration, experiment, cooloff, period, channel;
  std::string unit, fixed, speedup, max_slowdown;
  std::optional<std::int64_t> min_visits;
  std::optional<std::uint64_t> seed;
  std::string output, format;
  ConsoleOptions console;
};

ProfileOptions::ProfileOptions(CLI::App& app, bool runs_command)
    : values_(std::make_unique<Values>()) {
  Values& v = *values_;
  app.add_option("--config", v.config, "configuration file; the options here win")
      ->type_name("FILE");

  const std::string progress = "Progress points";
  app.add_option("--progress", v.progress,
                 "what one visit of is a unit of work: file.c:210, function, binary:function, "
                 "binary+0xOFFSET, usdt:provider:name, syscall:sendto, sampled:file.c:210 "
                 "(repeatable)")
      ->type_name("SPEC")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(progress);
  app.add_option("--latency", v.latency, "latency from one SPEC to another (repeatable)")
      ->type_name("NAME=BEGIN,END")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(progress);
  if (runs_command) {
    app.add_flag("--end-to-end", v.end_to_end,
                 "one run of the program is one unit of work; repeats the run")
        ->group(progress);
  }

  const std::string scope = "What is sped up";
  app.add_option("--scope-file", v.scope_files, "only code of these source files (repeatable)")
      ->type_name("GLOB")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(scope);
  app.add_option("--scope-binary", v.scope_binaries,
                 "only code of these binaries; MAIN is the executable, and the default "
                 "(repeatable)")
      ->type_name("GLOB")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(scope);
  app.add_option("--unit", v.unit,
                 "what is sped up: by default lines where there is line information, else "
                 "functions")
      ->type_name("line|function")
      ->check(CLI::IsMember({"line", "function"}))
      ->group(scope);
  app.add_option("--fixed", v.fixed, "only this unit, instead of the random plan")
      ->type_name("UNIT")
      ->group(scope);
  app.add_option("--speedup", v.speedup, "with --fixed: only this speedup against its baseline")
      ->type_name("PERCENT")
      ->group(scope);

  const std::string experiments = "Experiments";
  app.add_option("--duration", v.duration, "length of the profile; default: until Ctrl-C")
      ->type_name("TIME")
      ->group(experiments);
  app.add_option("--experiment", v.experiment, "length of one experiment [500ms]")
      ->type_name("TIME")
      ->group(experiments);
  app.add_option("--cooloff", v.cooloff, "pause between two experiments [10ms]")
      ->type_name("TIME")
      ->group(experiments);
  app.add_option("--min-visits", v.min_visits,
                 "experiments grow until they have so many visits [5]")
      ->type_name("N")
      ->group(experiments);
  app.add_option("--period", v.period, "CPU time between two samples; auto: by its measured cost")
      ->type_name("TIME|auto")
      ->group(experiments);
  app.add_option("--max-slowdown", v.max_slowdown, "end early, cleanly, beyond it")
      ->type_name("PERCENT")
      ->group(experiments);
  app.add_option("--seed", v.seed, "makes the plan repeatable; default: random, recorded")
      ->type_name("N")
      ->group(experiments);
  app.add_option("--pause-channel", v.channel, "how threads are paused [auto]")
      ->type_name("auto|sigtrap|ptrace")
      ->group(experiments);

  const std::string output = "Output";
  app.add_option("-o,--output", v.output, "experiment log, appended to [profile.jsonl]")
      ->type_name("FILE")
      ->group(output);
  app.add_option("--format", v.format, "what to print at the end [text]")
      ->type_name("text|json|coz")
      ->group(output);
  add_color_option(app, v.console.color);
  auto* quiet = app.add_flag("--quiet", v.console.quiet, "only results and errors")->group(output);
  app.add_flag("--verbose", v.console.verbose, "say what is done, on standard error")
      ->excludes(quiet)
      ->group(output);
}

ProfileOptions::~ProfileOptions() = default;

ConsoleOptions ProfileOptions::console() const { return values_->console; }

config::Config ProfileOptions::config() const {
  const Values& v = *values_;
  config::Config config = v.config.empty() ? config::Config{} : config::load(v.config);

  if (!v.progress.empty()) config.progress.throughput = v.progress;
  if (!v.latency.empty()) {
    config.progress.latency.clear();
    for (const std::string& text : v.latency) {
      config.progress.latency.push_back(config::parse_latency(text, "--latency"));
    }
  }
  if (v.end_to_end) config.progress.end_to_end = true;
  if (!v.scope_files.empty()) config.scope.files = v.scope_files;
  if (!v.scope_binaries.empty()) config.scope.binaries = v.scope_binaries;
  if (!v.unit.empty()) {
    config.scope.unit = v.unit == "line" ? config::Unit::line : config::Unit::function;
  }

  config::Experiment& experiment = config.experiment;
  if (!v.fixed.empty()) experiment.fixed_unit = v.fixed;
  if (!v.speedup.empty()) {
    const double value = percent(v.speedup, "--speedup", {1, 100});
    if (value != static_cast<unsigned>(value)) {
      throw UsageError(fmt::format("--speedup: must be whole percents, not {}", v.speedup));
    }
    experiment.fixed_speedup_percent = static_cast<unsigned>(value);
  }
  if (!v.experiment.empty()) {
    experiment.duration_ns = duration(v.experiment, "--experiment", config::kExperimentNs);
  }
  if (!v.cooloff.empty()) {
    experiment.cooloff_ns = duration(v.cooloff, "--cooloff", config::kCooloffNs);
  }
  if (v.min_visits) {
    if (*v.min_visits < config::kMinVisits.low || *v.min_visits > config::kMinVisits.high) {
      throw UsageError(fmt::format("--min-visits: must be from {} to {}, not {}",
                                   config::kMinVisits.low, config::kMinVisits.high, *v.min_visits));
    }
    experiment.min_visits = static_cast<unsigned>(*v.min_visits);
  }
  if (v.seed) experiment.seed = v.seed;

  if (v.period == "auto") {
    config.sampling.period_ns.reset();
  } else if (!v.period.empty()) {
    config.sampling.period_ns = duration(v.period, "--period", config::kPeriodNs);
  }
  if (!v.duration.empty()) {
    config.budget.duration_ns = duration(v.duration, "--duration", config::kDurationNs);
  }
  if (!v.max_slowdown.empty()) {
    config.budget.max_slowdown_percent =
        percent(v.max_slowdown, "--max-slowdown", config::kMaxSlowdownPercent);
  }
  if (!v.channel.empty()) {
    config::check_channel(v.channel, "--pause-channel");
    config.pause.channel = v.channel;
  }
  if (!v.output.empty()) config.output.log = v.output;
  if (!v.format.empty()) {
    config::check_format(v.format, "--format");
    config.output.format = v.format;
  }
  return config;
}

void add_color_option(CLI::App& app, Color& color) {
  static const std::map<std::string, Color> kColors = {
      {"auto", Color::automatic}, {"always", Color::always}, {"never", Color::never}};
  app.add_option("--color", color, "color in the text report [auto]")
      ->type_name("auto|always|never")
      ->transform(CLI::Transformer(kColors).description(""))
      ->group("Output");
}

std::string config_json(const config::Config& config) {
  using Json = nlohmann::ordered_json;
  const auto time = [](Nanoseconds ns) { return Json(config::duration_text(ns)); };
  Json latency = Json::array();
  for (const config::LatencyPoint& point : config.progress.latency) {
    latency.push_back({{"name", point.name}, {"begin", point.begin}, {"end", point.end}});
  }
  Json target = Json::object();
  if (config.target.pid) target["pid"] = *config.target.pid;
  if (!config.target.match.empty()) target["match"] = config.target.match;
  if (!config.target.command.empty()) target["command"] = config.target.command;
  // The values of environment variables may be secrets; a log is shared.
  for (const auto& [name, value] : config.target.environment) target["env"].push_back(name);
  if (!config.target.directory.empty()) target["directory"] = config.target.directory;

  const config::Experiment& e = config.experiment;
  Json experiment = {{"duration", time(e.duration_ns)},
                     {"cooloff", time(e.cooloff_ns)},
                     {"min_visits", e.min_visits},
                     {"speedups", e.speedups_percent},
                     {"baseline_share", e.baseline_share}};
  if (e.seed) experiment["seed"] = *e.seed;
  if (!e.fixed_unit.empty()) experiment["fixed"] = e.fixed_unit;
  if (e.fixed_speedup_percent) experiment["speedup"] = *e.fixed_speedup_percent;

  static constexpr const char* kUnits[] = {"auto", "line", "function"};
  Json budget = Json::object();
  if (config.budget.duration_ns) budget["duration"] = time(*config.budget.duration_ns);
  if (config.budget.max_slowdown_percent) {
    budget["max_slowdown"] = *config.budget.max_slowdown_percent;
  }
  const Json json = {
      {"target", target},
      {"progress",
       {{"throughput", config.progress.throughput},
        {"latency", latency},
        {"end_to_end", config.progress.end_to_end}}},
      {"scope",
       {{"binary", config.scope.binaries},
        {"file", config.scope.files},
        {"unit", kUnits[static_cast<std::size_t>(config.scope.unit)]}}},
      {"experiment", experiment},
      {"sampling",
       {{"period", config.sampling.period_ns ? time(*config.sampling.period_ns) : Json("auto")}}},
      {"pause", {{"channel", config.pause.channel}, {"longest", time(config.pause.longest_ns)}}},
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
