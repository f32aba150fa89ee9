// The kinds of values that a setting can have, for settings.cc. A kind says how its value is read
// from TOML and from the text of an option, how the log writes it, what the help calls it and what
// range the documents give it. Each kind has a type Value and
//   read(node, faults, into)   notes a fault, with its place, if the TOML holds no such value
//   parse(text, what, into)    throws UsageError that names the option `what`; a list gets all
//                              texts at once; a kind that no option uses does not have it
//   print(value)               returns null if the log leaves the key out
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/settings.h"
#include "config/text.h"
#include "controller/base/error.h"
#include "controller/base/number.h"

namespace causalctl::config {

struct Kind {
  static constexpr Shape kShape = Shape::value;
  static std::string type() { return {}; }  // if empty, the row of the setting says it
  static std::string range() { return {}; }
  template <typename Value>
  static Json print(const Value& value) {
    return value;
  }
};

// Returns an empty text if `node` holds none that can be used.
inline std::string text_of(const toml::node& node, Faults& faults) {
  const auto value = node.value_exact<std::string>();
  if (value && !value->empty() && value->find('\0') == std::string::npos) return *value;
  if (value) {
    faults.add(node, "must not be empty or hold a NUL");
  } else {
    faults.must_be(node, "a string");
  }
  return {};
}

template <typename Parse>
void read_text(const toml::node& node, Faults& faults, Parse parse) {
  const std::string text = text_of(node, faults);
  try {
    if (!text.empty()) parse(text);
  } catch (const UsageError& error) {
    faults.add(node, error.what());
  }
}

struct Flag : Kind {
  using Value = bool;
  static constexpr Shape kShape = Shape::flag;
  std::optional<bool> implied;  // the value that the log leaves out
  bool given;                   // the value that the option stands for

  explicit Flag(std::optional<bool> left_out = {}, bool by_option = true)
      : implied(left_out), given(by_option) {}
  static void read(const toml::node& node, Faults& faults, bool& into) {
    if (!node.is_boolean()) faults.must_be(node, "true or false");
    into = node.value_or(false);
  }
  void parse(const std::string&, std::string_view, bool& into) const { into = given; }
  Json print(bool value) const { return value == implied ? Json() : Json(value); }
};

// T is Nanoseconds, or a std::optional of it, whose nullopt is called "auto".
template <typename T>
struct TimeOr : Kind {
  using Value = T;
  static constexpr bool kMayBeAuto = !std::is_same_v<T, Nanoseconds>;
  Nanoseconds low, high;

  TimeOr(Nanoseconds lowest, Nanoseconds highest) : low(lowest), high(highest) {}
  void read(const toml::node& node, Faults& faults, T& into) const {
    if (!node.is_string()) return faults.must_be(node, "a time such as \"10ms\"");
    read_text(node, faults, [&](const std::string& text) { parse(text, "", into); });
  }
  void parse(const std::string& text, std::string_view what, T& into) const {
    if constexpr (kMayBeAuto) {
      if (text == "auto") return into.reset();
    }
    const Nanoseconds time_ns = parse_duration(text, what);
    if (time_ns < low || time_ns > high) {
      throw UsageError(fmt::format("{}must be from {} to {}, not {}", lead_in(what),
                                   duration_text(low), duration_text(high), text));
    }
    into = time_ns;
  }
  static Json print(const T& value) {
    const std::optional<Nanoseconds> time_ns = value;
    return time_ns ? duration_text(*time_ns) : "auto";
  }
  static std::string type() { return kMayBeAuto ? "TIME|auto" : "TIME"; }
  std::string range() const {
    return fmt::format("{} to {}", low == 0 ? "0" : duration_text(low), duration_text(high));
  }
};
using Time = TimeOr<Nanoseconds>;
using TimeOrAuto = TimeOr<std::optional<Nanoseconds>>;

// A whole number. If T is double, any number: options call it a percentage and also accept it with
// "%".
template <typename T>
struct Number : Kind {
  using Value = T;
  static constexpr bool kWhole = !std::is_same_v<T, double>;
  using Wide = std::conditional_t<kWhole, std::int64_t, double>;
  Wide low, high;

  constexpr Number(Wide lowest, Wide highest) : low(lowest), high(highest) {}
  void read(const toml::node& node, Faults& faults, T& into) const {
    const auto value = kWhole || node.is_number() ? node.value<Wide>() : std::nullopt;
    if (!value || (kWhole && !node.is_integer())) {
      faults.must_be(node, kWhole ? "a whole number" : "a number");
    } else if (!holds(*value)) {
      faults.add(node, fmt::format("must be from {} to {}, not {}", low, high, *value));
    } else {
      into = static_cast<T>(*value);
    }
  }
  void parse(std::string text, std::string_view what, T& into) const {
    if (!kWhole && !text.empty() && text.back() == '%') text.pop_back();
    const auto value = parse_number<Wide>(text);
    if (!value || !holds(*value)) {
      throw UsageError(fmt::format("{}: must be a {} from {} to {}, not {}", what,
                                   kWhole ? "whole number" : "percentage", low, high,
                                   printable(text)));
    }
    into = static_cast<T>(*value);
  }
  static std::string type() { return kWhole ? "N" : "PERCENT"; }
  std::string range() const {
    if (high < 1'000'000) return fmt::format("{} to {}", low, high);
    return low > 1 ? fmt::format("at least {}", low) : "";
  }
  bool holds(Wide value) const { return value >= low && value <= high; }  // false for NaN
};
using Whole = Number<unsigned>;
using Percent = Number<double>;

struct ProcessId : Number<Pid> {
  ProcessId() : Number(1, 1 << 22) {}
};

// The command line accepts all 64 bits of a seed; TOML integers are signed, so there it is 63.
struct Seed : Number<std::uint64_t> {
  static constexpr Shape kShape = Shape::natural;
  Seed() : Number(0, INT64_MAX) {}
  static void parse(const std::string& text, std::string_view, std::uint64_t& into) {
    into = parse_number<std::uint64_t>(text).value_or(0);
  }
};

struct WholePercent : Whole {
  WholePercent() : Number(0, 100) {}
  static void parse(const std::string& text, std::string_view what, unsigned& into) {
    double value = 0;
    Percent(0, 100).parse(text, what, value);
    if (value != std::floor(value)) {
      throw UsageError(fmt::format("{}: must be a whole percentage, not {}", what, text));
    }
    into = static_cast<unsigned>(value);
  }
  static std::string type() { return Percent::type(); }
};

// One of several names. The value is an enumeration, in the order of the names, or the name itself.
template <typename T>
struct Choice : Kind {
  using Value = T;
  std::string_view thing;  // "a unit"
  std::vector<std::string> names;

  Choice(std::string_view what, std::vector<std::string> all)
      : thing(what), names(std::move(all)) {}
  explicit Choice(std::string_view what) requires std::is_enum_v<T> : thing(what) {
    for (const std::string_view name : names_of(T{})) names.emplace_back(name);
  }
  void read(const toml::node& node, Faults& faults, T& into) const {
    read_text(node, faults, [&](const std::string& text) { parse(text, "", into); });
  }
  void parse(const std::string& text, std::string_view what, T& into) const {
    const auto found = std::find(names.begin(), names.end(), text);
    if (found == names.end()) {
      const std::vector<std::string> but_last(names.begin(), names.end() - 1);
      throw UsageError(fmt::format("{}\"{}\" is not {}: {} or {}", lead_in(what), printable(text),
                                   thing, fmt::join(but_last, ", "), names.back()));
    }
    if constexpr (std::is_enum_v<T>) {
      into = static_cast<T>(found - names.begin());
    } else {
      into = *found;
    }
  }
  Json print(const T& value) const {
    if constexpr (std::is_enum_v<T>) return names.at(static_cast<std::size_t>(value));
    return value;
  }
  std::string type() const { return fmt::format("{}", fmt::join(names, "|")); }
  std::string range() const { return fmt::format("`{}`", fmt::join(names, "`, `")); }
};

struct Text : Kind {
  using Value = std::string;
  using Check = void (*)(std::string_view text, std::string_view what);
  Check check;  // checks a text in TOML

  explicit Text(Check check_of_toml = nullptr) : check(check_of_toml) {}
  void read(const toml::node& node, Faults& faults, std::string& into) const {
    read_text(node, faults, [&](const std::string& text) {
      if (check != nullptr) check(text, "");
      into = text;
    });
  }
  static void parse(const std::string& text, std::string_view, std::string& into) { into = text; }
  static Json print(const std::string& value) { return value.empty() ? Json() : Json(value); }
};

// A list of texts. In Words, which is a command, only the first must not be empty. An option gives
// a command as one text, which is split as a shell would split it.
struct Strings : Kind {
  using Value = Texts;
  static constexpr Shape kShape = Shape::list;

  static void read(const toml::node& node, Faults& faults, Texts& into) {
    read_all(node, faults, false, into);
  }
  static void parse(const Texts& texts, std::string_view, Texts& into) { into = texts; }

  static void read_all(const toml::node& node, Faults& faults, bool may_be_empty, Texts& into) {
    if (!node.is_array()) return faults.must_be(node, "a list of strings");
    if (node.as_array()->empty()) faults.add(node, "must not be empty");
    into.clear();
    for (const toml::node& item : *node.as_array()) {
      const bool empty = may_be_empty && !into.empty() && item.value_exact<std::string>() == "";
      into.push_back(empty ? "" : text_of(item, faults));
    }
  }
};

struct Words : Kind {
  using Value = Texts;
  static void read(const toml::node& node, Faults& faults, Texts& into) {
    Strings::read_all(node, faults, true, into);
  }
  static void parse(const std::string& text, std::string_view what, Texts& into) {
    into = split_words(text, what);
  }
  static Json print(const Texts& value) { return value.empty() ? Json() : Json(value); }
  static std::string type() { return "COMMAND"; }
};

// Environment variables, which are added to the inherited ones.
struct Variables : Kind {
  using Value = std::map<std::string, std::string>;
  static void read(const toml::node& node, Faults& faults, Value& into) {
    if (!node.is_table()) return faults.must_be(node, "a table of strings");
    for (const auto& [key, value] : *node.as_table()) {
      if (!value.is_string()) faults.must_be(value, "a string");
      if (value.value_or<std::string_view>("").find('\0') != std::string_view::npos) {
        faults.add(value, "must not hold a NUL");
      }
      if (key.str().empty() || key.str().find('=') != std::string_view::npos) {
        faults.add(value, fmt::format("the name of a variable has no '=' and is not empty, unlike "
                                      "\"{}\"",
                                      printable(key.str())));
      }
      into[std::string(key.str())] = value.value_or<std::string>("");
    }
  }
  // Values may be secrets and logs are passed on, so only the names are printed.
  static Json print(const Value& value) {
    Json names;
    for (const auto& [name, text] : value) names.push_back(name);
    return names;
  }
};

struct LatencyPoints : Kind {
  using Value = std::vector<LatencyPoint>;
  static constexpr Shape kShape = Shape::list;

  static void read(const toml::node& node, Faults& faults, Value& into) {
    const toml::array* array = node.as_array();
    if (array == nullptr || !array->is_homogeneous<toml::table>()) {
      return faults.add(node, "must be tables: [[progress.latency]] with name, begin and end");
    }
    into.clear();
    for (const toml::node& item : *array) read_one(*item.as_table(), faults, into.emplace_back());
  }
  static void parse(const Texts& texts, std::string_view what, Value& into) {
    into.clear();
    for (const std::string& text : texts) into.push_back(parse_latency(text, what));
  }
  static Json print(const Value& value) {
    Json points = Json::array();
    for (const auto& [name, begin, end] : value) {
      points.push_back({{"name", name}, {"begin", begin}, {"end", end}});
    }
    return points;
  }
  static std::string type() { return "NAME=BEGIN,END"; }

  static void read_one(const toml::table& table, Faults& faults, LatencyPoint& into) {
    const std::map<std::string_view, std::string*> fields = {
        {"name", &into.name}, {"begin", &into.begin}, {"end", &into.end}};
    for (const auto& [key, value] : table) {
      if (const auto field = fields.find(key.str()); field != fields.end()) {
        *field->second = text_of(value, faults);
      } else {
        faults.add(key.source(), fmt::format("unknown key \"{}\"; known here: name, begin, end",
                                             printable(key.str())));
      }
    }
    for (const char* name : {"name", "begin", "end"}) {
      if (!table.contains(name)) faults.add(table, fmt::format("\"{}\" is missing", name));
    }
  }
};

struct Speedups : Kind {  // whole percents, in order, each once
  using Value = std::vector<unsigned>;
  static void read(const toml::node& node, Faults& faults, Value& into) {
    if (!node.is_array()) return faults.must_be(node, "a list of percents");
    std::set<unsigned> all;
    for (const toml::node& item : *node.as_array()) {
      unsigned percent = 0;
      WholePercent().read(item, faults, percent);
      all.insert(percent);
    }
    into.assign(all.begin(), all.end());
    if (all.empty() || into.back() == 0) faults.add(node, "must hold at least one speedup above 0");
  }
};

struct Cpus : Kind {
  using Value = std::vector<unsigned>;
  static void read(const toml::node& node, Faults& faults, Value& into) {
    const toml::array* array = node.as_array();
    if (array == nullptr || array->empty()) {
      return faults.add(node, "must be a list of CPU numbers, at least one");
    }
    into.clear();
    for (const toml::node& item : *array) Whole(0, 4095).read(item, faults, into.emplace_back());
  }
  static void parse(const std::string& text, std::string_view what, Value& into) {
    into.clear();
    std::istringstream words(text + ",");  // without the comma, a last empty word would be lost
    for (std::string word; std::getline(words, word, ',');) {
      Whole(0, 4095).parse(word, what, into.emplace_back());
    }
  }
  static std::string type() { return "N,N…"; }
};

}  // namespace causalctl::config
