// The options of the commands that take a configuration (attach, run, ab and callpath), and how
// they are merged with the file: the command line wins, and a repeatable option given there
// replaces the file's whole list.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/load.h"
#include "controller/commands/command_line.h"
#include "controller/commands/output.h"

namespace causalctl::config {
enum class Heading : std::uint8_t;
struct Option;
struct Setting;
}  // namespace causalctl::config

namespace causalctl::commands {

struct ConsoleOptions {
  Color color = Color::automatic;
  bool quiet = false;
  bool verbose = false;
};

void set_log_level(const ConsoleOptions& console);

// The options that these commands share. Keep the object until the command line is parsed.
class ConfigOptions {
 public:
  ConfigOptions(const ConfigOptions&) = delete;  // because CLI11 has the addresses of its members
  ConfigOptions& operator=(const ConfigOptions&) = delete;
  // Reads the configuration file, if one is named, and puts each --set and then the options of the
  // settings over it. Throws UsageError. The caller then adds the target that its own arguments
  // name, in place of the file's, and calls config::check (or check_ab).
  config::Config config() const;
  const ConsoleOptions& console() const { return console_; }

 protected:
  ConfigOptions(CLI::App& app, const char* file_option);
  void add_console(CLI::App& app);  // --color, --quiet and --verbose
  // The options of the settings (config/settings.h) under a heading.
  void add(CLI::App& app, config::Heading heading);

  ConsoleOptions console_;

 private:
  struct Given {
    const config::Option* option = nullptr;
    std::vector<const config::Setting*> settings;
    // CLI11 writes to one of these, depending on the shape of the settings.
    bool flag = false;
    std::string text;
    std::vector<std::string> list;
    std::optional<std::uint64_t> number;

    std::vector<std::string> texts() const;  // empty if not given
  };
  std::string file_;
  std::vector<std::string> lines_;  // the lines given by --set
  std::deque<Given> given_;         // a deque, whose elements do not move
};

class ProfileOptions : public ConfigOptions {
 public:
  // `runs_command` adds the options that only `run` has.
  ProfileOptions(CLI::App& app, bool runs_command);
};

class AbOptions : public ConfigOptions {
 public:
  explicit AbOptions(CLI::App& app);
  // Returns where the report goes; empty for standard output.
  const std::string& output() const { return output_; }

 private:
  std::string output_;
};

class RecordingOptions : public ConfigOptions {  // of callpath
 public:
  explicit RecordingOptions(CLI::App& app);
};

}  // namespace causalctl::commands
