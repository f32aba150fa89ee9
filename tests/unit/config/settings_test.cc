// docs/configuration.md, docs/ab.md and docs/callpath.md have each setting with its option, range
// and default.
#include "config/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "tests/unit/config/docs_path.h"

namespace causalctl {

using config::Setting;

namespace {

struct Documented {
  std::string option, value, fallback;
};
using Documents = std::map<std::string, Documented>;  // by key

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream rest(line.substr(1));
  for (std::string cell; std::getline(rest, cell, '|');) cells.push_back(cell);
  cells.resize(4);
  return cells;
}

// The rows of the tables whose first column has keys, of a document whose headings name sections;
// `section`: that of a document that has one only.
Documents read_tables(const std::string& name, std::string section) {
  Documents keys;
  std::ifstream file(std::string(DOCS_FOLDER "/") + name);
  std::smatch match;
  for (std::string line; std::getline(file, line);) {
    if (std::regex_search(line, match, std::regex("^### `\\[(\\w+)\\]`"))) section = match[1];
    if (!line.starts_with("| `")) continue;
    const auto cells = cells_of(line);
    static const std::regex key("`(\\[\\[\\w+\\.)?([a-z_.]+)(\\]\\])?`");
    for (std::sregex_iterator at(cells[0].begin(), cells[0].end(), key), end; at != end; ++at) {
      keys[section + "." + (*at)[2].str()] = {cells[1], cells[2], cells[3]};
    }
  }
  return keys;
}

// Under which key docs/ab.md has a setting: one that A and B have stands there once.
std::string ab_key(const std::string& key) {
  if (key.starts_with("ab.predict.")) return "ab.predict";
  std::string shared = key;
  if (key.starts_with("ab.a.") || key.starts_with("ab.b.")) shared.erase(3, 2);
  const auto is_shared = [&](const Setting& one) { return one.key == shared; };
  const auto& all = config::settings();
  return std::any_of(all.begin(), all.end(), is_shared) ? shared : key;
}

std::string default_of(const Setting& setting) {
  const config::Json value = setting.print(config::Config{});
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());  // "3", not "3.0"
  return value.is_number() || value.is_boolean() ? value.dump() : "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void check_document(const Setting& setting, const Documents& keys, const std::string& key) {
  INFO(setting.key);
  REQUIRE(keys.contains(key));
  const auto& [option, value, fallback] = keys.at(key);
  for (const config::Option& each : setting.options) {
    const std::string name = each.names.substr(each.names.find(',') + 1);
    CHECK(contains(option, "`" + name));
  }
  INFO(setting.range);
  CHECK(contains(value, setting.range));
}

}  // namespace

TEST_CASE("docs/configuration.md has each setting of a profile", "[config]") {
  const Documents keys = read_tables("configuration.md", "");
  std::set<std::string> known;
  for (const Setting& setting : config::settings()) {
    if (setting.key.starts_with("ab.") || setting.key.starts_with("callpath.")) continue;
    known.insert(setting.key);
    check_document(setting, keys, setting.key);
    const auto& [option, value, fallback] = keys.at(setting.key);
    if (setting.options.empty()) CHECK_FALSE(std::regex_search(option, std::regex("--[a-z]")));
    CHECK(contains(fallback, default_of(setting)));
  }
  for (const auto& [key, row] : keys) {
    INFO(key);
    CHECK(known.contains(key));
  }
}

TEST_CASE("docs/ab.md has each setting of a comparison", "[config]") {
  const Documents keys = read_tables("ab.md", "ab");
  for (const Setting& setting : config::settings()) {
    if (setting.key.starts_with("ab.")) check_document(setting, keys, ab_key(setting.key));
  }
}

TEST_CASE("docs/callpath.md has each setting of a recording", "[config]") {
  const Documents keys = read_tables("callpath.md", "callpath");
  for (const Setting& setting : config::settings()) {
    if (!setting.key.starts_with("callpath.")) continue;
    check_document(setting, keys, setting.key);
    CHECK(contains(keys.at(setting.key).fallback, default_of(setting)));
  }
}

TEST_CASE("the help names the defaults of a profile", "[config]") {
  for (const Setting& setting : config::settings()) {
    if (setting.key.starts_with("ab.") || setting.shape != config::Shape::value) continue;
    const std::string text = default_of(setting);
    for (const config::Option& option : setting.options) {
      INFO(setting.key << ": " << option.help);
      CHECK(contains(option.help, text.empty() ? "" : "[" + text));
    }
  }
}

TEST_CASE("the keys of settings are different", "[config]") {
  std::set<std::string> keys;
  for (const Setting& setting : config::settings()) {
    INFO(setting.key);
    CHECK(keys.insert(setting.key).second);
  }
}

}  // namespace causalctl
