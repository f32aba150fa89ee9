#include "config/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <tuple>

#include "config/text.h"

namespace causalctl::config {

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
  return words(node, false, out);
}

bool Loader::command(const toml::node& node, std::vector<std::string>& out) {
  return words(node, true, out);
}

bool Loader::words(const toml::node& node, bool may_be_empty, std::vector<std::string>& out) {
  const toml::array* array = node.as_array();
  if (array == nullptr || array->empty()) {
    fault(node, array != nullptr ? "must not be empty"
                                 : fmt::format("must be a list of strings, not {}", type_of(node)));
    return false;
  }
  std::vector<std::string> all;
  bool good = true;
  for (const toml::node& item : *array) {
    std::string& word = all.emplace_back();
    const bool empty = may_be_empty && all.size() > 1 && item.value_exact<std::string>() == "";
    good = (empty || string(item, word)) && good;
  }
  if (good) out = std::move(all);
  return good;
}

void Loader::string_table(const toml::node& node, std::map<std::string, std::string>& out) {
  const toml::table* table = node.as_table();
  if (table == nullptr) {
    fault(node, fmt::format("must be a table of strings, not {}", type_of(node)));
    return;
  }
  for (const auto& [key, value] : *table) {
    if (!value.is_string()) {
      fault(value, fmt::format("must be a string, not {}", type_of(value)));
    } else {
      out[std::string(key.str())] = *value.value<std::string>();
    }
  }
}

void Loader::fault(const toml::source_region& where, std::string text) {
  faults_.push_back({where.begin.line, where.begin.column, std::move(text)});
}

void Loader::throw_faults() {
  if (faults_.empty()) return;
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

}  // namespace causalctl::config
