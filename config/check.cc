// Checks what no single setting shows: settings that need each other, exclude each other or are
// missing.
#include <fmt/format.h>

#include <set>
#include <utility>

#include "config/load.h"
#include "config/pattern.h"
#include "config/text.h"
#include "controller/base/error.h"

namespace causalctl::config {
namespace {

void refuse_if(bool wrong, const char* what, const char* hint) {
  if (wrong) throw UsageError(what, hint);
}

bool counts_visits(const Progress& progress) {
  return !progress.throughput.empty() || !progress.latency.empty();
}

template <typename T>
void inherit(T& own, const T& shared) {
  if (own == T{}) own = shared;
}

void complete(AbSide& side, const AbSide& both) {
  for (const auto& [name, value] : both.environment) side.environment.try_emplace(name, value);
  inherit(side.directory, both.directory);
  inherit(side.ready, both.ready);
  inherit(side.ready_port, both.ready_port);
  inherit(side.ready_delay_ns, both.ready_delay_ns);
  inherit(side.load, both.load);
  inherit(side.cpus, both.cpus);
  inherit(side.load_cpus, both.load_cpus);
  inherit(side.nice, both.nice);
}

void check_side(const AbSide& side, const char* name) {
  const int ways =
      (side.command.empty() ? 0 : 1) + (side.pid ? 1 : 0) + (side.match.empty() ? 0 : 1);
  if (ways != 1) {
    throw UsageError(
        fmt::format("side {}: {}", name,
                    ways == 0 ? "nothing is named that could be run or measured"
                              : "more than one of command, pid and match is given"),
        fmt::format("give one of: command, pid or match in [ab.{}], or --{}", name, name));
  }
  check_pattern(side.ready, "ready");
  if (!side.command.empty()) return;
  if (!side.environment.empty() || !side.directory.empty() || !side.cpus.empty() || side.nice ||
      !side.ready.empty()) {
    throw UsageError(
        fmt::format("side {}: env, directory, cpus, nice and ready are for a command, not for a "
                    "process that already runs",
                    name),
        "the process must be left as it is");
  }
}

void check_names(const Progress& progress) {
  std::set<std::string_view> names;
  for (const std::string& spec : progress.throughput) {
    if (!names.insert(spec).second) {
      throw UsageError(fmt::format("the progress point {} is named twice", spec));
    }
  }
  for (const LatencyPoint& point : progress.latency) {
    if (!names.insert(point.name).second) {
      throw UsageError(fmt::format("two progress points are called {}", point.name),
                       "reports tell them apart by their names");
    }
    if (point.begin == point.end) {
      throw UsageError(
          fmt::format("latency {}: its begin is its end, {}", point.name, point.begin),
          "name two places that each piece of work passes one after the other; how often one is "
          "passed is --progress");
    }
  }
}

void refuse_samples(const Progress& progress) {
  std::vector<std::string> specs = progress.throughput;
  for (const LatencyPoint& point : progress.latency) {
    specs.insert(specs.end(), {point.begin, point.end});
  }
  for (const std::string& spec : specs) {
    if (!spec.starts_with("sampled:")) continue;
    throw UsageError(fmt::format("{}: ab takes no samples, so it cannot count by them", spec),
                     "choose a line, a function, a USDT probe or a system call");
  }
}

// Refuses a setting that would have no effect, or would make the run fail after minutes.
void check_times(const Ab& ab) {
  for (const AbSide* side : {&ab.a, &ab.b}) {
    const bool waits = !side->ready.empty() || side->ready_port || side->ready_delay_ns;
    refuse_if(!ab.measure_ns && side->load.empty() && (waits || ab.warm_up_ns > 0),
              "ready, ready_port, ready_delay and warm_up mean nothing for whole runs",
              "name a progress point or a load, or leave them out");
    const Nanoseconds wait_ns =
        side->ready_delay_ns.value_or(0) + ab.warm_up_ns + ab.measure_ns.value_or(0);
    if (wait_ns >= ab.time_limit_ns) {
      throw UsageError(
          fmt::format("ready_delay, warm_up and measure take {} together, time_limit is {}",
                      duration_text(wait_ns), duration_text(ab.time_limit_ns)),
          "give more with --time-limit");
    }
  }
}

// `third` is the format that is allowed besides text and json.
void check_format_of(std::string_view format, std::string_view what, std::string_view thing,
                     std::string_view third) {
  if (format == "text" || format == "json" || format == third) return;
  throw UsageError(fmt::format("{}\"{}\" is not {}", lead_in(what), printable(format), thing),
                   fmt::format("use text, json or {}", third));
}

}  // namespace

void check_format(std::string_view format, std::string_view what) {
  check_format_of(format, what, "a format here", "coz");
}

void check_ab_format(std::string_view format, std::string_view what) {
  check_format_of(format, what, "a format of ab", "csv");
}

void check_pattern(std::string_view pattern, std::string_view /*what*/) {
  const re2::RE2 compiled({pattern.data(), pattern.size()}, pattern_options());
  if (!compiled.ok()) {
    throw UsageError(
        fmt::format("\"{}\" is not a pattern: {}", printable(pattern), compiled.error()),
        "patterns are those of RE2: https://github.com/google/re2/wiki/Syntax");
  }
  if (compiled.NumberOfCapturingGroups() > 1) {
    throw UsageError("must not have more than one group: the process id to measure");
  }
}

void check(const Config& config) {
  const Target& target = config.target;
  const int targets =
      (target.pid ? 1 : 0) + (target.match.empty() ? 0 : 1) + (target.command.empty() ? 0 : 1);
  check_format(config.output.format, "output.format");
  refuse_if(targets != 1, targets == 0 ? "no target is named" : "more than one target is named",
            "give one of: PID, target.match, a command after --");
  const Progress& progress = config.progress;
  refuse_if(!counts_visits(progress) && !progress.end_to_end, "no progress point is named",
            "say what counts as work done: --progress file.c:210; causalctl points PID lists "
            "candidates");
  refuse_if(progress.end_to_end && target.command.empty(), "end-to-end needs a command to repeat",
            "use causalctl run --end-to-end -- …");
  refuse_if(progress.end_to_end && counts_visits(progress),
            "end-to-end counts runs of the program, and nothing else",
            "leave out --progress and --latency, or --end-to-end");
  refuse_if(progress.end_to_end && config.budget.max_slowdown_percent,
            "a slowdown cannot be bounded end to end: whole runs are sped up",
            "leave out --max-slowdown, or name a progress point");
  check_names(progress);
  refuse_if(config.experiment.fixed_speedup_percent && config.experiment.fixed_unit.empty(),
            "a fixed speedup needs a fixed unit", "add --fixed UNIT");
}

void check_ab(Config& config) {
  Ab& ab = config.ab;
  for (const auto& [side, name] : {std::pair(&ab.a, "a"), std::pair(&ab.b, "b")}) {
    complete(*side, ab.both);
    check_side(*side, name);
  }
  check_ab_format(config.output.format, "output.format");
  check_names(config.progress);
  const bool counts = counts_visits(config.progress);
  const bool runs = !ab.a.command.empty() && !ab.b.command.empty();
  refuse_if(config.progress.end_to_end, "end_to_end has no meaning for ab",
            "name no progress point: then each run of the command is measured as a whole");
  refuse_samples(config.progress);
  if (counts && !ab.measure_ns && ab.a.load.empty()) ab.measure_ns = kSecond;
  refuse_if(!runs && !ab.measure_ns && ab.a.load.empty(),
            "a process that runs on needs to be told when a run ends",
            "give measure (--measure 2s), or a load that ends");
  refuse_if(ab.a.load.empty() != ab.b.load.empty(), "only one side has a load",
            "give one to both, in [ab]");
  refuse_if(!counts && ab.measure_ns,
            "measure needs a progress point: what would be counted in that time?",
            "name one with --progress, or leave measure out: then whole runs are timed");
  check_times(ab);
  const Predict& predict = ab.predict;
  const int given = (predict.log.empty() ? 0 : 1) + (predict.unit.empty() ? 0 : 1) +
                    (predict.speedup_percent > 0 ? 1 : 0);
  refuse_if(given == 1 || given == 2, "predict needs log, unit and speedup",
            "predict = { log = \"profile.jsonl\", unit = \"hash.c:217\", speedup = 50 }");
  refuse_if(given == 3 && !counts, "predict needs the progress point of the profile",
            "name it in [progress], or with --progress");
}

}  // namespace causalctl::config
