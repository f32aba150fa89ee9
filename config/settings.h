// The table of settings. One row is all that the configuration file, the command line, the
// configuration in the log and the test of docs/configuration.md know of a setting; what it is when
// nobody sets it stands in config.h.
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

// What is wrong with a TOML text, each fault with its place.
class Faults {
 public:
  void add(const toml::source_region& where, std::string text);
  void add(const toml::node& node, std::string text) { add(node.source(), std::move(text)); }
  void must_be(const toml::node& node, std::string_view what);  // "must be WHAT, not integer"
  // If there are any, throws UsageError with one "NAME:LINE:COLUMN: …" line for each.
  void throw_any(const std::string& name);

 private:
  struct Fault {
    unsigned line;
    unsigned column;
    std::string text;
  };
  std::vector<Fault> all_;
};

// Where an option stands in the help, and so of which command it is.
enum class Heading : std::uint8_t {
  points,
  points_of_run,  // the same heading, of `run` only
  scope,
  experiments,
  output,
  ab_sides,
  ab_measured,
  ab_enough,
  ab_prediction,
  ab_output
};

struct Option {
  Heading heading;
  int line;           // under the heading; options of the same line stand as in the table
  std::string names;  // "-o,--output", of which messages use the last
  std::string help;
  std::string type = {};  // what the help calls the value; empty: as its kind says
  void (*check)(std::string_view text, std::string_view what) = nullptr;
};

// How an option gives the value: by standing there, by the text after it, by any number of such
// texts, or by a number that CLI11 reads.
enum class Shape : std::uint8_t { flag, value, list, natural };

struct Setting {
  std::string key;  // "experiment.duration"
  std::vector<Option> options;
  Shape shape = Shape::value;
  std::string range;  // "1ms to 1h"; empty: the documents say what it may be
  std::function<void(const toml::node&, Faults&, Config&)> read;
  // From the texts of an option; nothing, where its kind has no such text.
  std::function<void(const Texts&, std::string_view option, Config&)> give;
  // As the log has it (which has no [ab]); null where it leaves the key out.
  std::function<Json(const Config&)> print;
};

// In the order of the sections and keys of the log. An option that several rows have sets them all.
const std::vector<Setting>& settings();

}  // namespace causalctl::config
