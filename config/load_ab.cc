// The keys of [ab] and what no single one of them shows. A side's keys may stand in [ab] itself,
// for both sides; what a side says wins.
#include <fmt/format.h>

#include <regex>

#include "config/keys.h"
#include "config/text.h"

namespace causalctl::config {
namespace {

void set_cpus(Loader& loader, const toml::node& node, std::vector<unsigned>& out) {
  const toml::array* array = node.as_array();
  if (array == nullptr || array->empty()) {
    loader.fault(node, "must be a list of CPU numbers, at least one");
    return;
  }
  std::vector<unsigned> all;
  for (const toml::node& item : *array) all.push_back(integer_or(loader, item, kCpu, 0U));
  out = std::move(all);
}

void check_pattern(const std::string& pattern, std::string_view /*what*/) {
  try {
    const std::regex compiled(pattern);
    if (compiled.mark_count() > 1) {
      throw UsageError("must not have more than one group: the process id to measure");
    }
  } catch (const std::regex_error& error) {
    throw UsageError(fmt::format("\"{}\" is not a pattern: {}", printable(pattern), error.what()));
  }
}

struct SideKey {
  const char* name;
  bool of_one_side;
  void (*set)(Loader& loader, const toml::node& node, AbSide& side);
};

const SideKey kSideKeys[] = {
    {"command", true,
     [](Loader& l, const toml::node& n, AbSide& side) { l.command(n, side.command); }},
    {"pid", true,
     [](Loader& l, const toml::node& n, AbSide& side) { side.pid = integer_or(l, n, kPid, 0); }},
    {"match", true, [](Loader& l, const toml::node& n, AbSide& side) { l.string(n, side.match); }},
    {"env", false,
     [](Loader& l, const toml::node& n, AbSide& side) { l.string_table(n, side.environment); }},
    {"directory", false,
     [](Loader& l, const toml::node& n, AbSide& side) { l.string(n, side.directory); }},
    {"ready", false,
     [](Loader& l, const toml::node& n, AbSide& side) { l.checked(n, side.ready, check_pattern); }},
    {"ready_port", false,
     [](Loader& l, const toml::node& n, AbSide& side) {
       side.ready_port = integer_or(l, n, kPort, 0U);
     }},
    {"ready_delay", false,
     [](Loader& l, const toml::node& n, AbSide& side) {
       l.duration(n, kWaitNs, side.ready_delay_ns.emplace());
     }},
    {"load", false, [](Loader& l, const toml::node& n, AbSide& side) { l.command(n, side.load); }},
    {"cpus", false,
     [](Loader& l, const toml::node& n, AbSide& side) { set_cpus(l, n, side.cpus); }},
    {"load_cpus", false,
     [](Loader& l, const toml::node& n, AbSide& side) { set_cpus(l, n, side.load_cpus); }},
    {"nice", false,
     [](Loader& l, const toml::node& n, AbSide& side) { side.nice = integer_or(l, n, kNice, 0); }},
};

Predict& prediction(Loader& loader) {
  auto& predict = loader.config.ab.predict;
  return predict ? *predict : predict.emplace();
}

const Key kAbKeys[] = {
    {"ab.rounds",
     [](Loader& l, const toml::node& n) { l.config.ab.rounds = integer_or(l, n, kRounds, 2U); }},
    {"ab.null_rounds",
     [](Loader& l, const toml::node& n) {
       l.config.ab.null_rounds = integer_or(l, n, {0, kRounds.high}, 0U);
     }},
    {"ab.warm_up",
     [](Loader& l, const toml::node& n) { l.duration(n, kWaitNs, l.config.ab.warm_up_ns); }},
    {"ab.measure",
     [](Loader& l, const toml::node& n) {
       l.duration(n, kWindowNs, l.config.ab.measure_ns.emplace());
     }},
    {"ab.time_limit",
     [](Loader& l, const toml::node& n) { l.duration(n, kWindowNs, l.config.ab.time_limit_ns); }},
    {"ab.grace",
     [](Loader& l, const toml::node& n) { l.duration(n, kWaitNs, l.config.ab.grace_ns); }},
    {"ab.seed",
     [](Loader& l, const toml::node& n) {
       l.config.ab.seed = integer_or(l, n, {0, INT64_MAX}, std::uint64_t{0});
     }},
    {"ab.until_certain",
     [](Loader& l, const toml::node& n) { l.boolean(n, l.config.ab.until_certain); }},
    {"ab.resolution",
     [](Loader& l, const toml::node& n) {
       l.number(n, kResolutionPercent, l.config.ab.resolution_percent);
     }},
    {"ab.fail_if_slower",
     [](Loader& l, const toml::node& n) {
       l.number(n, kFailIfSlowerPercent, l.config.ab.fail_if_slower_percent.emplace());
     }},
    {"ab.predict.log", [](Loader& l, const toml::node& n) { l.string(n, prediction(l).log); }},
    {"ab.predict.unit", [](Loader& l, const toml::node& n) { l.string(n, prediction(l).unit); }},
    {"ab.predict.speedup",
     [](Loader& l, const toml::node& n) {
       l.number(n, {0.1, 100}, prediction(l).speedup_percent);
     }},
};

// --- what no single key shows -----------------------------------------------------------------

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

// Nothing that is given may be without effect, or bound to fail after minutes.
void check_times(const Ab& ab) {
  for (const AbSide* side : {&ab.a, &ab.b}) {
    const bool waits = !side->ready.empty() || side->ready_port || side->ready_delay_ns;
    if (!ab.measure_ns && side->load.empty() && (waits || ab.warm_up_ns > 0)) {
      throw UsageError("ready, ready_port, ready_delay and warm_up mean nothing for whole runs",
                       "name a progress point or a load, or leave them out");
    }
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

}  // namespace

void add_ab_keys(std::vector<Key>& keys) {
  for (const SideKey& key : kSideKeys) {
    const auto set_of = [set = key.set](AbSide Ab::*side) {
      return [set, side](Loader& loader, const toml::node& node) {
        set(loader, node, loader.config.ab.*side);
      };
    };
    keys.push_back({fmt::format("ab.a.{}", key.name), set_of(&Ab::a)});
    keys.push_back({fmt::format("ab.b.{}", key.name), set_of(&Ab::b)});
    if (!key.of_one_side) keys.push_back({fmt::format("ab.{}", key.name), set_of(&Ab::both)});
  }
  keys.insert(keys.end(), std::begin(kAbKeys), std::end(kAbKeys));
}

void check_ab(Config& config) {
  Ab& ab = config.ab;
  for (const auto& [side, name] : {std::pair(&ab.a, "a"), std::pair(&ab.b, "b")}) {
    complete(*side, ab.both);
    check_side(*side, name);
  }
  check_ab_format(config.output.format, "output.format");
  check_names(config.progress);
  const bool counts = !config.progress.throughput.empty() || !config.progress.latency.empty();
  const bool runs = !ab.a.command.empty() && !ab.b.command.empty();
  if (config.progress.end_to_end) {
    throw UsageError("end_to_end has no meaning for ab",
                     "name no progress point: then each run of the command is measured as a whole");
  }
  refuse_samples(config.progress);
  if (counts && !ab.measure_ns && ab.a.load.empty()) ab.measure_ns = kSecond;
  if (!runs && !ab.measure_ns && ab.a.load.empty()) {
    throw UsageError("a process that runs on needs to be told when a run ends",
                     "give measure (--measure 2s), or a load that ends");
  }
  if (ab.a.load.empty() != ab.b.load.empty()) {
    throw UsageError("only one side has a load", "give one to both, in [ab]");
  }
  if (!counts && ab.measure_ns) {
    throw UsageError("measure needs a progress point: what would be counted in that time?",
                     "name one with --progress, or leave measure out: then whole runs are timed");
  }
  check_times(ab);
  if (ab.predict &&
      (ab.predict->log.empty() || ab.predict->unit.empty() || ab.predict->speedup_percent <= 0)) {
    throw UsageError("predict needs log, unit and speedup",
                     "predict = { log = \"profile.jsonl\", unit = \"hash.c:217\", speedup = 50 }");
  }
  if (ab.predict && !counts) {
    throw UsageError("predict needs the progress point of the profile",
                     "name it in [progress], or with --progress");
  }
}

}  // namespace causalctl::config
