// The table of settings. The configuration file, the command line, the configuration in the log and
// the test of docs/configuration.md know a setting only by its row here. Its default is in
// config.h.
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"

namespace causalctl::config {

using Json = nlohmann::ordered_json;
using Texts = std::vector<std::string>;

// Collects what is wrong with a TOML text, each fault with its place.
class Faults {
 public:
  void add(const toml::source_region& where, std::string text);
  void add(const toml::node& node, std::string text) { add(node.source(), std::move(text)); }
  void must_be(const toml::node& node, std::string_view what);  // "must be WHAT, not integer"
  // Throws UsageError with one "NAME:LINE:COLUMN: …" line for each fault, if there are any.
  void throw_any(const std::string& name);

 private:
  struct Fault {
    unsigned line;
    unsigned column;
    std::string text;
  };
  std::vector<Fault> all_;
};

// The heading of the help under which an option is listed. It also says which command has the
// option.
enum class Heading : std::uint8_t {
  points,
  points_of_run,  // the same heading, but only for `run`
  scope,
  experiments,
  output,
  ab_sides,
  ab_measured,
  ab_enough,
  ab_prediction,
  ab_output,
  recording,
  recording_output
};

struct Option {
  Heading heading;
  int line;  // its position under the heading; options of one line stand in the order of the table
  std::string names;  // "-o,--output", of which messages use the last
  std::string help;
  std::string type = {};  // what the help calls the value; if empty, the kind says it
  void (*check)(std::string_view text, std::string_view what) = nullptr;
};

// How an option takes its value: a flag by being present, a value from the text after it, a list
// from any number of such texts, a natural from a number that CLI11 reads.
enum class Shape : std::uint8_t { flag, value, list, natural };

struct Setting {
  std::string key;  // "experiment.duration"
  std::vector<Option> options;
  Shape shape = Shape::value;
  std::string range;  // "1ms to 1h"; if empty, the documents say what is allowed
  std::function<void(const toml::node&, Faults&, Config&)> read;
  // Sets the value from the texts of an option. Empty if the kind cannot be read from a text.
  std::function<void(const Texts&, std::string_view option, Config&)> give;
  // Returns the value as the log has it; null if the log leaves the key out. The log has neither
  // [ab] nor [callpath].
  std::function<Json(const Config&)> print;
};

// The rows are in the order of the log's sections and keys. An option that several rows name sets
// all of them.
const std::vector<Setting>& settings();

}  // namespace causalctl::config
