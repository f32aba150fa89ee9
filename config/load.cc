// The table of settings says which keys there are and what each may hold; `walk` goes through the
// parsed TOML along it, and Faults collects every fault instead of stopping at the first.
//
// Configuration is untrusted input: whatever it holds ends in a Config or in a UsageError.
#include "config/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <tuple>
#include <utility>
#include <vector>

#include "config/settings.h"
#include "config/text.h"
#include "controller/base/error.h"
#include "controller/base/regular_file.h"

namespace causalctl::config {
namespace {

std::string type_of(const toml::node& node) {
  std::ostringstream text;
  text << node.type();
  return text.str();
}

bool is_table(const std::string& path) {
  return std::any_of(settings().begin(), settings().end(),
                     [&](const Setting& one) { return one.key.starts_with(path + "."); });
}

void unknown(Faults& faults, const toml::key& key, const std::string& path,
             const std::string& prefix) {
  std::vector<std::string> here;
  std::string elsewhere;
  for (const Setting& known : settings()) {
    const std::size_t dot = known.key.rfind('.');
    if (known.key.substr(dot + 1) == key.str() && elsewhere.empty()) {
      elsewhere = known.key.substr(0, dot);
    }
    if (known.key.starts_with(prefix)) {
      const std::string rest = known.key.substr(prefix.size());
      here.emplace_back(rest.substr(0, rest.find('.')));
    }
  }
  std::string text = fmt::format("unknown key \"{}\"", printable(path));
  if (const auto near = nearest(key.str(), here)) {
    text += fmt::format("; did you mean \"{}{}\"?", prefix, *near);
  } else if (!elsewhere.empty()) {
    text += fmt::format("; it belongs in [{}]", elsewhere);
  }
  faults.add(key.source(), std::move(text));
}

void walk(const toml::table& table, const std::string& prefix, Faults& faults, Config& into) {
  for (const auto& [key, node] : table) {
    const std::string path = prefix + std::string(key.str());
    const auto known = std::find_if(settings().begin(), settings().end(),
                                    [&](const Setting& one) { return one.key == path; });
    if (known != settings().end()) {
      known->read(node, faults, into);
    } else if (!is_table(path)) {
      unknown(faults, key, path, prefix);
    } else if (node.is_table()) {
      walk(*node.as_table(), path + ".", faults, into);
    } else {
      faults.add(node, fmt::format("[{}] is a table, not {}", path, type_of(node)));
    }
  }
}

}  // namespace

void Faults::add(const toml::source_region& where, std::string text) {
  all_.push_back({where.begin.line, where.begin.column, std::move(text)});
}

void Faults::throw_any(const std::string& name) {
  if (all_.empty()) return;
  std::stable_sort(all_.begin(), all_.end(), [](const Fault& a, const Fault& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  });
  std::string text;
  for (const Fault& fault : all_) {
    text += fmt::format("{}{}:{}:{}: {}", text.empty() ? "" : "\n", name, fault.line, fault.column,
                        fault.text);
  }
  throw UsageError(text, "the keys and what they may hold: docs/configuration.md");
}

void Faults::must_be(const toml::node& node, std::string_view what) {
  add(node, fmt::format("must be {}, not {}", what, type_of(node)));
}

void apply(std::string_view text, const std::string& name, Config& into) {
  Faults faults;
  Config config = into;
  toml::table table;
  try {
    table = toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    faults.add(error.source(), std::string(error.description()));
  }
  walk(table, "", faults, config);

  const auto target = table["target"];
  if ((target["pid"] ? 1 : 0) + (target["match"] ? 1 : 0) + (target["command"] ? 1 : 0) > 1) {
    faults.add(*target.node(), "only one of pid, match and command can be given");
  }
  faults.throw_any(name);
  into = std::move(config);
}

Config parse(std::string_view text, const std::string& name) {
  Config config;
  apply(text, name, config);
  return config;
}

std::string config_json(const Config& config) {
  Json json;
  for (const Setting& each : settings()) {
    const std::size_t dot = each.key.find('.');
    const std::string section = each.key.substr(0, dot);
    if (section == "ab" || section == "callpath") continue;
    Json& keys = json[section];
    if (keys.is_null()) keys = Json::object();
    Json value = each.print(config);
    if (!value.is_null()) keys[each.key.substr(dot + 1)] = std::move(value);
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Config load(const std::string& path) {
  constexpr std::uint64_t kLargest = 1 << 20;
  std::string text;
  try {
    text = read_input(path, kLargest, "name a TOML file with --config");
  } catch (const Error& error) {
    throw UsageError(error.what(), error.hint());
  }
  return parse(text, path);
}

}  // namespace causalctl::config
