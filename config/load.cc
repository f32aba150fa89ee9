// One table, kKeys, says which keys there are and what each may hold; the loader walks the parsed
// TOML along it and collects every fault instead of stopping at the first.
//
// Configuration is untrusted input: whatever it holds ends in a Config or in a UsageError.
#include "config/load.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <span>
#include <sstream>
#include <tuple>
#include <utility>
#include <vector>

#include "config/text.h"
#include "controller/base/error.h"

namespace causalctl::config {
namespace {

struct Fault {
  unsigned line;
  unsigned column;
  std::string text;
};

class Loader {
 public:
  explicit Loader(std::string name) : name_(std::move(name)) {}
  Config load(std::string_view text);

  Config config;  // filled by the setters below

  // Each takes a value of one type into `out`, or notes a fault; returns whether it was taken.
  bool string(const toml::node& node, std::string& out);
  bool boolean(const toml::node& node, bool& out);
  bool integer(const toml::node& node, Limits<std::int64_t> limits, std::int64_t& out);
  bool number(const toml::node& node, Limits<double> limits, double& out);
  bool duration(const toml::node& node, Limits<Nanoseconds> limits, Nanoseconds& out);
  bool strings(const toml::node& node, std::vector<std::string>& out);
  // A string that `check` may refuse by UsageError.
  template <typename Check>
  void checked(const toml::node& node, std::string& out, Check check);
  void fault(const toml::source_region& where, std::string text);
  void fault(const toml::node& node, std::string text) { fault(node.source(), std::move(text)); }
  void walk(const toml::table& table, const std::string& prefix);

 private:
  void unknown(const toml::key& key, const std::string& path, const std::string& prefix);
  [[noreturn]] void throw_faults();

  std::string name_;
  std::vector<Fault> faults_;
};

std::string type_of(const toml::node& node) {
  std::ostringstream text;
  text << node.type();
  return text.str();
}

bool Loader::string(const toml::node& node, std::string& out) {
  const auto value = node.value_exact<std::string>();
  if (!value) {
    fault(node, fmt::format("must be a string, not {}", type_of(node)));
  } else if (value->empty() || value->find('\0') != std::string::npos) {
    fault(node, "must not be empty or hold a NUL");
  } else {
    out = *value;
    return true;
  }
  return false;
}

bool Loader::boolean(const toml::node& node, bool& out) {
  const auto value = node.value_exact<bool>();
  if (value) {
    out = *value;
  } else {
    fault(node, fmt::format("must be true or false, not {}", type_of(node)));
  }
  return value.has_value();
}

bool Loader::integer(const toml::node& node, Limits<std::int64_t> limits, std::int64_t& out) {
  const auto value = node.value_exact<std::int64_t>();
  if (!value) {
    fault(node, fmt::format("must be a whole number, not {}", type_of(node)));
  } else if (*value < limits.low || *value > limits.high) {
    fault(node, fmt::format("must be from {} to {}, not {}", limits.low, limits.high, *value));
  } else {
    out = *value;
    return true;
  }
  return false;
}

bool Loader::number(const toml::node& node, Limits<double> limits, double& out) {
  const auto value = node.is_number() ? node.value<double>() : std::nullopt;
  if (!value) {
    fault(node, fmt::format("must be a number, not {}", type_of(node)));
  } else if (!(*value >= limits.low && *value <= limits.high)) {
    fault(node, fmt::format("must be from {} to {}, not {}", limits.low, limits.high, *value));
  } else {
    out = *value;
    return true;
  }
  return false;
}

bool Loader::duration(const toml::node& node, Limits<Nanoseconds> limits, Nanoseconds& out) {
  std::string text;
  if (!node.is_string()) {
    fault(node, fmt::format("must be a time such as \"10ms\", not {}", type_of(node)));
    return false;
  }
  if (!string(node, text)) return false;
  try {
    const Nanoseconds value = parse_duration(text, "");
    if (value >= limits.low && value <= limits.high) {
      out = value;
      return true;
    }
    fault(node, fmt::format("must be from {} to {}, not {}", duration_text(limits.low),
                            duration_text(limits.high), text));
  } catch (const UsageError& error) {
    fault(node, error.what());
  }
  return false;
}

bool Loader::strings(const toml::node& node, std::vector<std::string>& out) {
  const toml::array* array = node.as_array();
  if (array == nullptr || array->empty()) {
    fault(node, array != nullptr ? "must not be empty"
                                 : fmt::format("must be a list of strings, not {}", type_of(node)));
    return false;
  }
  std::vector<std::string> all;
  bool good = true;
  for (const toml::node& item : *array) good = string(item, all.emplace_back()) && good;
  if (good) out = std::move(all);
  return good;
}

template <typename Check>
void Loader::checked(const toml::node& node, std::string& out, Check check) {
  std::string text;
  if (!string(node, text)) return;
  try {
    check(text, "");
    out = text;
  } catch (const UsageError& error) {
    fault(node, error.what());
  }
}

// --- setters that need more than one call -----------------------------------------------------

void set_environment(Loader& loader, const toml::node& node) {
  const toml::table* table = node.as_table();
  if (table == nullptr) {
    loader.fault(node, fmt::format("must be a table of strings, not {}", type_of(node)));
    return;
  }
  for (const auto& [key, value] : *table) {
    if (!value.is_string()) {
      loader.fault(value, fmt::format("must be a string, not {}", type_of(value)));
    } else {
      loader.config.target.environment[std::string(key.str())] = *value.value<std::string>();
    }
  }
}

void set_latency(Loader& loader, const toml::node& node) {
  const toml::array* array = node.as_array();
  if (array == nullptr || !array->is_homogeneous<toml::table>()) {
    loader.fault(node, "must be tables: [[progress.latency]] with name, begin and end");
    return;
  }
  for (const toml::node& item : *array) {
    LatencyPoint point;
    const std::pair<std::string_view, std::string*> fields[] = {
        {"name", &point.name}, {"begin", &point.begin}, {"end", &point.end}};
    for (const auto& [key, value] : *item.as_table()) {
      const auto* field = std::find_if(std::begin(fields), std::end(fields),
                                       [&](const auto& one) { return one.first == key.str(); });
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
  if (!loader.string(node, text)) return;
  if (text == "line" || text == "function") {
    loader.config.scope.unit = text == "line" ? Unit::line : Unit::function;
  } else if (text != "auto") {
    loader.fault(node, fmt::format("must be \"auto\", \"line\" or \"function\", not \"{}\"",
                                   printable(text)));
  }
}

void set_period(Loader& loader, const toml::node& node) {
  if (node.value_exact<std::string>() == "auto") return;
  Nanoseconds period_ns = 0;
  if (loader.duration(node, kPeriodNs, period_ns)) loader.config.sampling.period_ns = period_ns;
}

template <typename T>
T integer_or(Loader& loader, const toml::node& node, Limits<std::int64_t> limits, T other) {
  std::int64_t value = 0;
  return loader.integer(node, limits, value) ? static_cast<T>(value) : other;
}

// --- the keys ---------------------------------------------------------------------------------

struct Key {
  std::string_view path;
  void (*set)(Loader& loader, const toml::node& node);
};

// For keys of `ab`, which the profile does not use: only their types are checked.
void check_strings(Loader& loader, const toml::node& node) {
  std::vector<std::string> ignored;
  loader.strings(node, ignored);
}
void check_string(Loader& loader, const toml::node& node) {
  std::string ignored;
  loader.string(node, ignored);
}
void check_environment(Loader& loader, const toml::node& node) {
  const auto kept = loader.config.target.environment;
  set_environment(loader, node);
  loader.config.target.environment = kept;
}

// NOLINTBEGIN: a table
#define SET [](Loader & l, const toml::node& n)
constexpr Key kKeys[] = {
    {"target.pid", SET{l.config.target.pid = integer_or<Pid>(l, n, {1, 1 << 22}, 0);
}  // namespace
}  // namespace causalctl::config
, {"target.match", SET{l.string(n, l.config.target.match);
}
}
, {"target.command", SET{l.strings(n, l.config.target.command);
}
}
, {"target.env", set_environment}, {"target.directory", SET{l.string(n, l.config.target.directory);
}
}
, {"progress.throughput", SET{l.strings(n, l.config.progress.throughput);
}
}
, {"progress.latency", set_latency},
    {"progress.end_to_end", SET{l.boolean(n, l.config.progress.end_to_end);
}
}
, {"scope.binary", SET{l.strings(n, l.config.scope.binaries);
}
}
, {"scope.file", SET{l.strings(n, l.config.scope.files);
}
}
, {"scope.unit", set_unit},
    {"experiment.duration", SET{l.duration(n, kExperimentNs, l.config.experiment.duration_ns);
}
}
, {"experiment.cooloff", SET{l.duration(n, kCooloffNs, l.config.experiment.cooloff_ns);
}
}
, {"experiment.min_visits", SET{l.config.experiment.min_visits = integer_or(l, n, kMinVisits, 1U);
}
}
, {"experiment.speedups", set_speedups},
    {"experiment.baseline_share",
     SET{l.number(n, kBaselineShare, l.config.experiment.baseline_share);
}
}
, {"experiment.seed",
   SET{l.config.experiment.seed = integer_or(l, n, {0, INT64_MAX}, std::uint64_t{0});
}
}
, {"experiment.fixed", SET{l.string(n, l.config.experiment.fixed_unit);
}
}
, {"experiment.speedup",
   SET{l.config.experiment.fixed_speedup_percent = integer_or(l, n, kSpeedupPercent, 0U);
}
}
, {"sampling.period", set_period},
    {"pause.channel", SET{l.checked(n, l.config.pause.channel, check_channel);
}
}
, {"pause.longest", SET{l.duration(n, kLongestPauseNs, l.config.pause.longest_ns);
}
}
, {"budget.duration", SET{l.duration(n, kDurationNs, l.config.budget.duration_ns.emplace());
}
}
, {"budget.max_slowdown",
   SET{l.number(n, kMaxSlowdownPercent, l.config.budget.max_slowdown_percent.emplace());
}
}
, {"output.log", SET{l.string(n, l.config.output.log);
}
}
, {"output.format", SET{l.checked(n, l.config.output.format, check_format);
}
}
, {"ab.a.command", check_strings}, {"ab.a.env", check_environment},
    {"ab.a.directory", check_string}, {"ab.b.command", check_strings},
    {"ab.b.env", check_environment}, {"ab.b.directory", check_string}, {"ab.load", check_strings},
    {"ab.rounds", SET{integer_or(l, n, {1, 1'000'000}, 0);
}
}
, {"ab.predict.log", check_string}, {"ab.predict.unit", check_string},
    {"ab.predict.speedup", SET{integer_or(l, n, kSpeedupPercent, 0);
}
}
,
}
;
#undef SET
// NOLINTEND

bool is_table(const std::string& path) {
  return std::any_of(std::begin(kKeys), std::end(kKeys), [&](const Key& key) {
    return key.path.size() > path.size() && key.path.substr(0, path.size()) == path &&
           key.path[path.size()] == '.';
  });
}

void Loader::walk(const toml::table& table, const std::string& prefix) {
  for (const auto& [key, node] : table) {
    const std::string path = prefix + std::string(key.str());
    const auto* known = std::find_if(std::begin(kKeys), std::end(kKeys),
                                     [&](const Key& one) { return one.path == path; });
    if (known != std::end(kKeys)) {
      known->set(*this, node);
    } else if (!is_table(path)) {
      unknown(key, path, prefix);
    } else if (node.is_table()) {
      walk(*node.as_table(), path + ".");
    } else {
      fault(node, fmt::format("[{}] is a table, not {}", path, type_of(node)));
    }
  }
}

void Loader::unknown(const toml::key& key, const std::string& path, const std::string& prefix) {
  std::vector<std::string> here;
  std::string elsewhere;
  for (const Key& known : kKeys) {
    const std::size_t dot = known.path.rfind('.');
    if (known.path.substr(dot + 1) == key.str() && elsewhere.empty()) {
      elsewhere = known.path.substr(0, dot);
    }
    if (known.path.substr(0, prefix.size()) == prefix) {
      const std::string_view rest = known.path.substr(prefix.size());
      here.emplace_back(rest.substr(0, rest.find('.')));
    }
  }
  std::string text = fmt::format("unknown key \"{}\"", printable(path));
  if (const auto near = nearest(key.str(), here)) {
    text += fmt::format("; did you mean \"{}{}\"?", prefix, *near);
  } else if (!elsewhere.empty()) {
    text += fmt::format("; it belongs in [{}]", elsewhere);
  }
  fault(key.source(), std::move(text));
}

void Loader::fault(const toml::source_region& where, std::string text) {
  faults_.push_back({where.begin.line, where.begin.column, std::move(text)});
}

void Loader::throw_faults() {
  std::stable_sort(faults_.begin(), faults_.end(), [](const Fault& a, const Fault& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  });
  std::string text;
  for (const Fault& fault : faults_) {
    text += fmt::format("{}{}:{}:{}: {}", text.empty() ? "" : "\n", name_, fault.line, fault.column,
                        fault.text);
  }
  throw UsageError(text, "the keys and what they may hold: docs/configuration.md");
}

Config Loader::load(std::string_view text) {
  toml::table table;
  try {
    table = toml::parse(text, name_);
  } catch (const toml::parse_error& error) {
    fault(error.source(), std::string(error.description()));
    throw_faults();
  }
  walk(table, "");

  const int targets = (table["target"]["pid"] ? 1 : 0) + (table["target"]["match"] ? 1 : 0) +
                      (table["target"]["command"] ? 1 : 0);
  if (targets > 1) fault(*table.get("target"), "only one of pid, match and command can be given");
  if (!faults_.empty()) throw_faults();
  return std::move(config);
}

}  // namespace

Config parse(std::string_view text, const std::string& name) { return Loader(name).load(text); }

Config load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) {
    throw UsageError(fmt::format("cannot read the configuration {}", path),
                     "name a TOML file with --config");
  }
  return parse(text.str(), path);
}

}  // namespace causalctl::config
