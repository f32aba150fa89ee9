// One table, kKeys (and that of load_ab.cc), says which keys there are and what each may hold;
// `walk` goes through the parsed TOML along it, and a Loader collects every fault instead of
// stopping at the first.
//
// Configuration is untrusted input: whatever it holds ends in a Config or in a UsageError.
#include "config/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <utility>
#include <vector>

#include "config/keys.h"
#include "config/loader.h"
#include "config/text.h"
#include "controller/base/error.h"

namespace causalctl::config {
namespace {

// --- setters that need more than one call -----------------------------------------------------

void set_latency(Loader& loader, const toml::node& node) {
  const toml::array* array = node.as_array();
  if (array == nullptr || !array->is_homogeneous<toml::table>()) {
    loader.fault(node, "must be tables: [[progress.latency]] with name, begin and end");
    return;
  }
  loader.config.progress.latency.clear();
  for (const toml::node& item : *array) {
    LatencyPoint point;
    const std::pair<std::string_view, std::string*> fields[] = {
        {"name", &point.name}, {"begin", &point.begin}, {"end", &point.end}};
    for (const auto& [key, value] : *item.as_table()) {
      const auto is_key = [name = key.str()](const auto& one) { return one.first == name; };
      const auto* field = std::find_if(std::begin(fields), std::end(fields), is_key);
      if (field != std::end(fields)) {
        loader.string(value, *field->second);
      } else {
        loader.fault(key.source(), fmt::format("unknown key \"{}\"; known here: name, begin, end",
                                               printable(key.str())));
      }
    }
    for (const auto& [name, value] : fields) {
      if (!item.as_table()->contains(name)) {
        loader.fault(item, fmt::format("\"{}\" is missing", name));
      }
    }
    loader.config.progress.latency.push_back(std::move(point));
  }
}

void set_speedups(Loader& loader, const toml::node& node) {
  const toml::array* array = node.as_array();
  if (array == nullptr) {
    loader.fault(node, fmt::format("must be a list of percents, not {}", type_of(node)));
    return;
  }
  std::vector<unsigned> all;
  for (const toml::node& item : *array) {
    std::int64_t value = 0;
    if (loader.integer(item, kSpeedupPercent, value)) all.push_back(static_cast<unsigned>(value));
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (all.empty() || all.back() == 0) {
    loader.fault(node, "must hold at least one speedup above 0");
  } else {
    loader.config.experiment.speedups_percent = std::move(all);
  }
}

void set_unit(Loader& loader, const toml::node& node) {
  std::string text;
  loader.checked(node, text, [&](const std::string& name, std::string_view what) {
    loader.config.scope.unit = parse_unit(name, what);
  });
}

void set_count_by(Loader& loader, const toml::node& node) {
  std::string text;
  loader.checked(node, text, [&](const std::string& name, std::string_view what) {
    loader.config.progress.count_by = parse_count_by(name, what);
  });
}

void set_duration_or_auto(Loader& loader, const toml::node& node, Limits<Nanoseconds> limits,
                          std::optional<Nanoseconds>& into) {
  if (node.value_exact<std::string>() == "auto") return into.reset();
  Nanoseconds time_ns = 0;
  if (loader.duration(node, limits, time_ns)) into = time_ns;
}

// csv is a format of ab only: check() and check_ab() know which command it is.
void check_any_format(const std::string& format, std::string_view what) {
  if (format != "csv") check_format(format, what);
}

// --- the keys ---------------------------------------------------------------------------------

// NOLINTBEGIN: a table
#define SET(statement) [](Loader& l, const toml::node& n) { statement; }
const Key kKeys[] = {
    {"target.pid", SET(l.config.target.pid = integer_or<Pid>(l, n, kPid, 0))},
    {"target.match", SET(l.string(n, l.config.target.match))},
    {"target.command", SET(l.command(n, l.config.target.command))},
    {"target.env", SET(l.string_table(n, l.config.target.environment))},
    {"target.directory", SET(l.string(n, l.config.target.directory))},
    {"progress.throughput", SET(l.strings(n, l.config.progress.throughput))},
    {"progress.latency", set_latency},
    {"progress.end_to_end", SET(l.boolean(n, l.config.progress.end_to_end))},
    {"progress.count_by", set_count_by},
    {"scope.binary", SET(l.strings(n, l.config.scope.binaries))},
    {"scope.file", SET(l.strings(n, l.config.scope.files))},
    {"scope.unit", set_unit},
    {"experiment.duration", SET(l.duration(n, kExperimentNs, l.config.experiment.duration_ns))},
    {"experiment.cooloff", SET(l.duration(n, kCooloffNs, l.config.experiment.cooloff_ns))},
    {"experiment.min_visits",
     SET(l.config.experiment.min_visits = integer_or(l, n, kMinVisits, 1U))},
    {"experiment.speedups", set_speedups},
    {"experiment.baseline_share",
     SET(l.number(n, kBaselineShare, l.config.experiment.baseline_share))},
    {"experiment.seed",
     SET(l.config.experiment.seed = integer_or(l, n, {0, INT64_MAX}, std::uint64_t{0}))},
    {"experiment.fixed", SET(l.string(n, l.config.experiment.fixed_unit))},
    {"experiment.speedup",
     SET(l.config.experiment.fixed_speedup_percent = integer_or(l, n, kSpeedupPercent, 0U))},
    {"experiment.pace_test", SET(l.boolean(n, l.config.experiment.pace_test))},
    {"sampling.period", SET(set_duration_or_auto(l, n, kPeriodNs, l.config.sampling.period_ns))},
    {"sampling.peers", SET(l.boolean(n, l.config.sampling.peers))},
    {"pause.channel", SET(l.checked(n, l.config.pause.channel, check_channel))},
    {"pause.cost", SET(set_duration_or_auto(l, n, kPauseCostNs, l.config.pause.cost_ns))},
    {"pause.threshold",
     SET(set_duration_or_auto(l, n, kPauseThresholdNs, l.config.pause.threshold_ns))},
    {"pause.longest", SET(l.duration(n, kLongestPauseNs, l.config.pause.longest_ns))},
    {"budget.duration", SET(l.duration(n, kDurationNs, l.config.budget.duration_ns.emplace()))},
    {"budget.max_slowdown",
     SET(l.number(n, kMaxSlowdownPercent, l.config.budget.max_slowdown_percent.emplace()))},
    {"budget.until_certain", SET(l.boolean(n, l.config.budget.until_certain))},
    {"output.log", SET(l.string(n, l.config.output.log))},
    {"output.format", SET(l.checked(n, l.config.output.format, check_any_format))},
};
#undef SET
// NOLINTEND

const std::vector<Key>& keys() {
  static const std::vector<Key> all = [] {
    std::vector<Key> keys(std::begin(kKeys), std::end(kKeys));
    add_ab_keys(keys);
    return keys;
  }();
  return all;
}

bool is_table(const std::string& path) {
  return std::any_of(keys().begin(), keys().end(), [&](const Key& key) {
    return key.path.size() > path.size() && key.path.substr(0, path.size()) == path &&
           key.path[path.size()] == '.';
  });
}

void unknown(Loader& loader, const toml::key& key, const std::string& path,
             const std::string& prefix) {
  std::vector<std::string> here;
  std::string elsewhere;
  for (const Key& known : keys()) {
    const std::size_t dot = known.path.rfind('.');
    if (known.path.substr(dot + 1) == key.str() && elsewhere.empty()) {
      elsewhere = known.path.substr(0, dot);
    }
    if (known.path.substr(0, prefix.size()) == prefix) {
      const std::string rest = known.path.substr(prefix.size());
      here.emplace_back(rest.substr(0, rest.find('.')));
    }
  }
  std::string text = fmt::format("unknown key \"{}\"", printable(path));
  if (const auto near = nearest(key.str(), here)) {
    text += fmt::format("; did you mean \"{}{}\"?", prefix, *near);
  } else if (!elsewhere.empty()) {
    text += fmt::format("; it belongs in [{}]", elsewhere);
  }
  loader.fault(key.source(), std::move(text));
}

void walk(Loader& loader, const toml::table& table, const std::string& prefix) {
  for (const auto& [key, node] : table) {
    const std::string path = prefix + std::string(key.str());
    const auto known = std::find_if(keys().begin(), keys().end(),
                                    [&](const Key& one) { return one.path == path; });
    if (known != keys().end()) {
      known->set(loader, node);
    } else if (!is_table(path)) {
      unknown(loader, key, path, prefix);
    } else if (node.is_table()) {
      walk(loader, *node.as_table(), path + ".");
    } else {
      loader.fault(node, fmt::format("[{}] is a table, not {}", path, type_of(node)));
    }
  }
}

}  // namespace

void apply(std::string_view text, const std::string& name, Config& into) {
  Loader loader(name);
  loader.config = into;
  toml::table table;
  try {
    table = toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    loader.fault(error.source(), std::string(error.description()));
  }
  walk(loader, table, "");

  const auto target = table["target"];
  if ((target["pid"] ? 1 : 0) + (target["match"] ? 1 : 0) + (target["command"] ? 1 : 0) > 1) {
    loader.fault(*target.node(), "only one of pid, match and command can be given");
  }
  loader.throw_faults();
  into = std::move(loader.config);
}

Config parse(std::string_view text, const std::string& name) {
  Config config;
  apply(text, name, config);
  return config;
}

Config load(const std::string& path) {
  constexpr std::streamsize kLargest = 1 << 20;  // a device would never end
  std::ifstream file(path, std::ios::binary);
  std::string text(kLargest + 1, '\0');
  file.read(text.data(), std::ssize(text));
  if (file.bad() || !file.is_open() || (file.gcount() == 0 && !file.eof())) {
    throw UsageError(fmt::format("cannot read the configuration {}", path),
                     "name a TOML file with --config");
  }
  if (file.gcount() > kLargest) {
    throw UsageError(fmt::format("{} is larger than any configuration: 1 MiB at most", path),
                     "name a TOML file with --config");
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  return parse(text, path);
}

}  // namespace causalctl::config
