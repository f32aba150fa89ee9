#include "controller/commands/ab_options.h"

#include <fmt/format.h>
#include <wordexp.h>

#include <optional>
#include <sstream>
#include <utility>

#include "config/load.h"
#include "config/text.h"
#include "controller/base/error.h"

namespace causalctl::commands {

// What was given on the command line, as text; empty: not given.
struct AbOptions::Values {
  std::string file;
  std::vector<std::string> settings;
  std::string a, b, load, ready, ready_port, ready_delay, cpus, load_cpus;
  std::vector<std::string> progress, latency;
  std::string count_by;
  std::string measure, warm_up, time_limit, grace;
  std::string rounds, null_rounds, seed, resolution, fail_if_slower, nice;
  bool until_certain = false;
  std::string predict_log, predict_unit, predict_speedup;
  std::string output, format;
  ConsoleOptions console;

  void add_sides(CLI::App& app);
  void add_runs(CLI::App& app);
  void add_output(CLI::App& app);
  void merge_sides(config::Ab& into) const;
  void merge_runs(config::Ab& into) const;
  void merge_rule(config::Ab& into) const;
};

namespace {

std::vector<unsigned> cpu_list(const std::string& text, std::string_view option) {
  std::vector<unsigned> cpus;
  std::istringstream words(text + ",");  // or an empty word at the end would be none
  for (std::string word; std::getline(words, word, ',');) {
    cpus.push_back(static_cast<unsigned>(whole_option(word, option, config::kCpu)));
  }
  return cpus;
}

// "4711" is a process, anything else a command.
void set_side(const std::string& text, const std::string& option, config::AbSide& side) {
  if (text.empty()) return;
  side.pid.reset();
  side.match.clear();
  side.command.clear();
  if (text.find_first_not_of("0123456789") == std::string::npos) {
    side.pid = static_cast<Pid>(whole_option(text, option, config::kPid));
  } else {
    side.command = split_words(text, option);
  }
}

}  // namespace

std::vector<std::string> split_words(const std::string& text, const std::string& option) {
  wordexp_t expanded{};
  const int error = wordexp(text.c_str(), &expanded, WRDE_NOCMD | WRDE_UNDEF);
  if (error != 0) {
    if (error == WRDE_NOSPACE) wordfree(&expanded);
    const char* why = error == WRDE_CMDSUB   ? "it has a command in it: $(…) or `…`"
                      : error == WRDE_BADVAL ? "it has a variable in it that is not set"
                      : error == WRDE_SYNTAX ? "a quote or bracket is not closed"
                                             : "it has a character of a shell: | & ; < > ( ) { }";
    throw UsageError(
        fmt::format("{}: \"{}\" is no single command: {}", option, config::printable(text), why),
        "quote it, or give: sh -c '…'");
  }
  std::vector<std::string> words(expanded.we_wordv, expanded.we_wordv + expanded.we_wordc);
  wordfree(&expanded);
  if (words.empty()) throw UsageError(fmt::format("{}: no command", option));
  return words;
}

void AbOptions::Values::add_sides(CLI::App& app) {
  add_word(app, "CONFIG", file, "FILE", "configuration file; the options here win");
  add_settings(app, settings);
  OptionGroup sides(app, "What is compared");
  sides.value("--a", a, "COMMAND|PID",
              "side A: a command, split as by a shell, or a running process");
  sides.value("--b", b, "COMMAND|PID", "side B");
  sides.value("--load", load, "COMMAND",
              "run against each side; CAUSALCTL_AB_SIDE and _PID tell which");
  sides.value("--ready", ready, "PATTERN",
              "words of its output by which a side is ready; a group in it is the pid to measure");
  sides.value("--ready-port", ready_port, "PORT",
              "a side is ready when it accepts connections there");
  sides.value("--ready-delay", ready_delay, "TIME", "a side is ready after this time");
  sides.value("--cpus", cpus, "N,N…", "the sides run on these CPUs only");
  sides.value("--load-cpus", load_cpus, "N,N…", "the load runs on these CPUs only");
  sides.value("--nice", nice, "N", "niceness of the sides");
}

void AbOptions::Values::add_runs(CLI::App& app) {
  OptionGroup measured(app, "What is measured");
  measured.list("--progress", progress, "SPEC",
                "progress point, as of attach; the first one decides");
  measured.list("--latency", latency, "NAME=BEGIN,END", "latency from one SPEC to another");
  add_count_by(measured, count_by);
  measured.value("--measure", measure, "TIME",
                 "length of a measurement [until the load ends; 1s without load]");
  measured.value("--warm-up", warm_up, "TIME", "before it, not measured [0s]");
  measured.value("--time-limit", time_limit, "TIME", "of one run [5m]");
  measured.value("--grace", grace, "TIME", "from SIGTERM to SIGKILL [5s]");
  OptionGroup enough(app, "How much is enough");
  enough.value("--rounds", rounds, "N", "pairs of runs; with --until-certain the most [20; 200]");
  enough.value("--null-rounds", null_rounds, "N",
               "pairs of A against A, first [a quarter, at least 8]");
  enough.flag("--until-certain", until_certain,
              "end as soon as the result is certain, by intervals that hold at every look");
  enough.value("--resolution", resolution, "PERCENT", "--until-certain: less does not matter [1]");
  enough.value("--fail-if-slower", fail_if_slower, "PERCENT",
               "exit status 1 when B is certainly slower, and by this much");
  enough.value("--seed", seed, "N", "makes the order repeatable; default: random, recorded");
  OptionGroup loop(app, "Prediction");
  loop.value("--predict-log", predict_log, "FILE", "log of a causal profile of A");
  loop.value("--predict-unit", predict_unit, "UNIT", "what is faster in B");
  loop.value("--predict-speedup", predict_speedup, "PERCENT", "by how much");
}

void AbOptions::Values::add_output(CLI::App& app) {
  OptionGroup group(app, "Output");
  group.value("-o,--output", output, "FILE", "where the report goes [standard output]");
  group.value("--format", format, "text|json|csv", "of the report [text]");
  add_console_options(group, console);
}

void AbOptions::Values::merge_sides(config::Ab& into) const {
  set_side(a, "--a", into.a);
  set_side(b, "--b", into.b);
  // Given here, for both sides, they win against what a side says in the file.
  for (config::AbSide* side : {&into.a, &into.b}) {
    if (!load.empty()) side->load = split_words(load, "--load");
    if (!ready.empty()) side->ready = ready;
    if (!ready_port.empty()) {
      side->ready_port =
          static_cast<unsigned>(whole_option(ready_port, "--ready-port", config::kPort));
    }
    if (!ready_delay.empty()) {
      side->ready_delay_ns = time_option(ready_delay, "--ready-delay", config::kWaitNs);
    }
    if (!cpus.empty()) side->cpus = cpu_list(cpus, "--cpus");
    if (!load_cpus.empty()) side->load_cpus = cpu_list(load_cpus, "--load-cpus");
    if (!nice.empty()) side->nice = static_cast<int>(whole_option(nice, "--nice", config::kNice));
  }
}

void AbOptions::Values::merge_runs(config::Ab& into) const {
  if (!measure.empty()) into.measure_ns = time_option(measure, "--measure", config::kWindowNs);
  if (!warm_up.empty()) into.warm_up_ns = time_option(warm_up, "--warm-up", config::kWaitNs);
  if (!time_limit.empty()) {
    into.time_limit_ns = time_option(time_limit, "--time-limit", config::kWindowNs);
  }
  if (!grace.empty()) into.grace_ns = time_option(grace, "--grace", config::kWaitNs);
  if (!rounds.empty()) {
    into.rounds = static_cast<unsigned>(whole_option(rounds, "--rounds", config::kRounds));
  }
  if (!null_rounds.empty()) {
    into.null_rounds = static_cast<unsigned>(
        whole_option(null_rounds, "--null-rounds", {0, config::kRounds.high}));
  }
  if (!seed.empty()) {
    into.seed = static_cast<std::uint64_t>(whole_option(seed, "--seed", {0, INT64_MAX}));
  }
}

void AbOptions::Values::merge_rule(config::Ab& into) const {
  if (until_certain) into.until_certain = true;
  if (!resolution.empty()) {
    into.resolution_percent =
        percent_option(resolution, "--resolution", config::kResolutionPercent);
  }
  if (!fail_if_slower.empty()) {
    into.fail_if_slower_percent =
        percent_option(fail_if_slower, "--fail-if-slower", config::kFailIfSlowerPercent);
  }
  if (predict_log.empty() && predict_unit.empty() && predict_speedup.empty()) return;
  config::Predict predict = into.predict.value_or(config::Predict{});
  if (!predict_log.empty()) predict.log = predict_log;
  if (!predict_unit.empty()) predict.unit = predict_unit;
  if (!predict_speedup.empty()) {
    predict.speedup_percent = percent_option(predict_speedup, "--predict-speedup", {0.1, 100});
  }
  into.predict = predict;
}

AbOptions::AbOptions(CLI::App& app) : values_(std::make_unique<Values>()) {
  values_->add_sides(app);
  values_->add_runs(app);
  values_->add_output(app);
}

AbOptions::~AbOptions() = default;

config::Config AbOptions::config() const {
  const Values& given = *values_;
  config::Config config = read_config(given.file, given.settings);
  given.merge_sides(config.ab);
  given.merge_runs(config.ab);
  given.merge_rule(config.ab);
  merge_points(given.progress, given.latency, given.count_by, config.progress);
  if (!given.format.empty()) {
    config::check_ab_format(given.format, "--format");
    config.output.format = given.format;
  }
  return config;
}

ConsoleOptions AbOptions::console() const { return values_->console; }
const std::string& AbOptions::output() const { return values_->output; }

}  // namespace causalctl::commands
