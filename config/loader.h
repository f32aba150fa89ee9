// Reads typed values out of parsed TOML and collects the faults, each with its place. The keys
// themselves are in load.cc and load_ab.cc.
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "config/load.h"
#include "controller/base/error.h"

namespace causalctl::config {

struct Fault {
  unsigned line;
  unsigned column;
  std::string text;
};

class Loader {
 public:
  explicit Loader(std::string name) : name_(std::move(name)) {}

  Config config;  // filled by the setters below

  // Each takes a value of one type into `out`, or notes a fault; returns whether it was taken.
  bool string(const toml::node& node, std::string& out);
  bool boolean(const toml::node& node, bool& out);
  bool integer(const toml::node& node, Limits<std::int64_t> limits, std::int64_t& out);
  bool number(const toml::node& node, Limits<double> limits, double& out);
  bool duration(const toml::node& node, Limits<Nanoseconds> limits, Nanoseconds& out);
  bool strings(const toml::node& node, std::vector<std::string>& out);
  // The words of a command: all but the first may be empty.
  bool command(const toml::node& node, std::vector<std::string>& out);
  void string_table(const toml::node& node, std::map<std::string, std::string>& out);
  // A string that `check` may refuse by UsageError.
  template <typename Check>
  void checked(const toml::node& node, std::string& out, Check check);
  void fault(const toml::source_region& where, std::string text);
  void fault(const toml::node& node, std::string text) { fault(node.source(), std::move(text)); }

  // Throws UsageError with all faults in the order of their places, if there are any.
  void throw_faults();

 private:
  bool words(const toml::node& node, bool may_be_empty, std::vector<std::string>& out);

  std::string name_;
  std::vector<Fault> faults_;
};

std::string type_of(const toml::node& node);  // "integer", for messages

template <typename T>
T integer_or(Loader& loader, const toml::node& node, Limits<std::int64_t> limits, T other) {
  std::int64_t value = 0;
  return loader.integer(node, limits, value) ? static_cast<T>(value) : other;
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

}  // namespace causalctl::config
