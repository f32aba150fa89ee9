// Each key that is written is named in the page that describes the format.
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <type_traits>
#include <vector>

#include "controller/callpath/record/log.h"
#include "controller/callpath/record/log_rows.h"
#include "controller/causal/record/experiment.h"
#include "tests/unit/report/golden_path.h"

namespace causalctl::causal {

namespace {

using Keys = std::set<std::string>;

std::string golden_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(std::string(GOLDEN_FOLDER) + "/" + path).rdbuf();
  REQUIRE_FALSE(text.str().empty());
  return text.str();
}

template <class T>
struct Held {  // by a list or an optional: what it is a list of
  using Type = T;
};
template <class T>
struct Held<std::vector<T>> {
  using Type = T;
};
template <class T>
struct Held<std::optional<T>> {
  using Type = T;
};

template <class Rows>
void add_keys(const Rows& rows, Keys& keys);

template <class... Rows>
void add_key(const Group<Rows...>& row, Keys& keys) {
  keys.insert(row.key);
  add_keys(row.rows, keys);
}
template <class S, class T>
void add_key(const Field<S, T>& row, Keys& keys) {
  if (*row.key != '\0') keys.insert(row.key);
  using Inner = typename Held<T>::Type;
  if constexpr (Described<Inner>) add_keys(Inner::fields(), keys);
}

template <class Rows>
void add_keys(const Rows& rows, Keys& keys) {
  for_each_row(rows, [&](const auto& row) { add_key(row, keys); });
}

// The keys of "facilities" are names of the kernel's.
void add_keys_of_report(const nlohmann::json& json, Keys& keys) {
  for (const auto& [key, value] : json.items()) {
    if (json.is_object()) keys.insert(key);
    if (key != "facilities" && value.is_structured()) add_keys_of_report(value, keys);
  }
}

Keys missing(const Keys& keys, const std::string& page) {
  Keys missing;
  for (const std::string& key : keys) {
    const bool named = page.find("`" + key + "`") != std::string::npos ||
                       page.find("`" + key + "[]`") != std::string::npos;
    if (!named) missing.insert(key);
  }
  return missing;
}

}  // namespace

TEST_CASE("docs/log-format.md names each recorded field", "[report][log]") {
  Keys keys;
  add_keys(Run::first_fields(), keys);
  add_keys(Run::last_fields(), keys);
  add_keys(Experiment::fields(), keys);
  add_keys(UnitSamples::fields(), keys);
  add_keys(causal::Pacing::fields(), keys);
  CHECK(keys.size() > 90);
  CHECK(missing(keys, golden_text("../../docs/log-format.md")) == Keys{});
}

TEST_CASE("docs/report-format.md names each key of the JSON report", "[report]") {
  Keys keys;
  add_keys_of_report(nlohmann::json::parse(golden_text("report.json")), keys);
  CHECK(keys.size() > 70);
  CHECK(missing(keys, golden_text("../../docs/report-format.md")) == Keys{});
}

TEST_CASE("docs/callpath-format.md names each field of the log", "[report][callpath][log]") {
  namespace rows = causalctl::callpath::log_rows;
  Keys keys = {"first",      "locations",     "strings",   "frames", "nodes",  "groups",
               "cells",      "metrics",       "epoch",     "group",  "kind",   "n",
               "process_of", "first_process", "processes", "pid",    "program"};
  add_keys(rows::first(), keys);
  add_keys(rows::so_far(), keys);
  add_keys(rows::last(), keys);
  add_keys(rows::of_module(), keys);
  add_keys(rows::of_epoch(), keys);
  for (const std::string_view type : causalctl::callpath::kLogTypes) keys.emplace(type);
  for (const std::string_view name : names_of(causalctl::callpath::Metric{})) keys.emplace(name);
  CHECK(keys.size() > 50);
  // What the experiment log has, too, is described there.
  CHECK(missing(keys, golden_text("../../docs/callpath-format.md") +
                          golden_text("../../docs/log-format.md")) == Keys{});
}

TEST_CASE("docs/callpath-format.md names each key of the JSON report", "[report][callpath]") {
  Keys keys;
  add_keys_of_report(nlohmann::json::parse(golden_text("callpath/report.json")), keys);
  add_keys_of_report(nlohmann::json::parse(golden_text("callpath/set.json")), keys);
  CHECK(keys.size() > 35);
  CHECK(missing(keys, golden_text("../../docs/callpath-format.md")) == Keys{});
}

TEST_CASE("docs/callpath-format.md names each key of the JSON of changes", "[report][callpath]") {
  Keys keys;
  add_keys_of_report(nlohmann::json::parse(golden_text("callpath/difference.json")), keys);
  CHECK(keys.size() > 40);
  CHECK(missing(keys, golden_text("../../docs/callpath-format.md")) == Keys{});
}

TEST_CASE("docs/callpath-format.md names each key of the JSON of gains", "[report][callpath]") {
  Keys keys;
  add_keys_of_report(nlohmann::json::parse(golden_text("callpath/gains.json")), keys);
  CHECK(keys.size() > 20);
  CHECK(missing(keys, golden_text("../../docs/callpath-format.md")) == Keys{});
}

}  // namespace causalctl::causal
