// The options of `ab`, and their merge over the configuration file, which they win against.
#pragma once

#include <memory>
#include <string>

#include "config/config.h"
#include "controller/commands/options.h"

namespace causalctl::commands {

class AbOptions {
 public:
  // Adds the options to `app`. Keep this object until the command line has been parsed.
  explicit AbOptions(CLI::App& app);
  ~AbOptions();

  // Reads the file, if one is given. Throws UsageError. The caller then calls config::check_ab.
  config::Config config() const;
  ConsoleOptions console() const;
  const std::string& output() const;  // of the report; empty: standard output

 private:
  struct Values;
  std::unique_ptr<Values> values_;
};

// Words as a shell would split them, with quotes and $VARIABLES, but no commands. Throws
// UsageError.
std::vector<std::string> split_words(const std::string& text, const std::string& option);

}  // namespace causalctl::commands
