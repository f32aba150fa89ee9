// The options that `attach` and `run` share, and their merge over the configuration file: what the
// command line says wins; a repeatable option given there replaces the file's whole list.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/load.h"
#include "controller/commands/command_line.h"
#include "controller/commands/output.h"

namespace causalctl::commands {

struct ConsoleOptions {
  Color color = Color::automatic;
  bool quiet = false;
  bool verbose = false;
};

void set_log_level(const ConsoleOptions& console);

class ProfileOptions {
 public:
  // Adds the options to `app`; `runs_command`: also those of `run` only. Keep this object until
  // the command line has been parsed and config() was called.
  ProfileOptions(CLI::App& app, bool runs_command);
  ~ProfileOptions();

  // Reads --config and puts the command line over it. Throws UsageError. The caller adds the
  // target that its own arguments name (replacing the file's) and then calls config::check.
  config::Config config() const;
  ConsoleOptions console() const;

 private:
  struct Values;
  std::unique_ptr<Values> values_;
};

// The value of an option, checked. Throws UsageError naming it. A percentage may end with "%".
Nanoseconds time_option(const std::string& text, std::string_view option,
                        config::Limits<Nanoseconds> limits);
double percent_option(std::string text, std::string_view option, config::Limits<double> limits);

std::int64_t whole_option(const std::string& text, std::string_view option,
                          config::Limits<std::int64_t> limits);

// --color, --quiet and --verbose.
void add_console_options(OptionGroup& group, ConsoleOptions& console);

// The configuration file, if one is named, and over it each of --set: a line of such a file, with a
// dotted key ("ab.a.env.LANG=\"C\""). Throws UsageError.
config::Config read_config(const std::string& file, const std::vector<std::string>& settings);
void add_settings(CLI::App& app, std::vector<std::string>& settings);

void add_count_by(OptionGroup& group, std::string& count_by);
// Progress points as --progress, --latency and --count-by gave them, in place of those of the file.
void merge_points(const std::vector<std::string>& throughput,
                  const std::vector<std::string>& latency, const std::string& count_by,
                  config::Progress& into);

// What was used, for the experiment log: the keys of the TOML file, as JSON.
std::string config_json(const config::Config& config);

// Replaces the target that the configuration file names, if any.
void set_target_pid(config::Config& config, Pid pid);
void set_target_command(config::Config& config, std::vector<std::string> command);

}  // namespace causalctl::commands
