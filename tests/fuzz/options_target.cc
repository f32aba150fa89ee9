#include <CLI/CLI.hpp>
#include <sstream>

#include "config/load.h"
#include "controller/base/error.h"
#include "controller/commands/options.h"
#include "tests/fuzz/targets.h"

namespace causalctl::fuzz {
namespace {

// --config would make the bytes name a file of this machine.
bool names_a_file(const std::string& argument) { return argument.starts_with("--config"); }

template <typename Options, typename... Arguments>
void parse(std::vector<std::string> arguments, Arguments... more) {
  CLI::App app;
  Options options(app, more...);
  try {
    app.parse(std::move(arguments));
    const config::Config config = options.config();
    config::config_json(config);
    config::check(config);
  } catch (const CLI::ParseError&) {
  } catch (const UsageError&) {
  }
}

}  // namespace

void read_options(Bytes bytes) {
  std::istringstream lines(as_text(bytes));
  std::vector<std::string> arguments;
  for (std::string line; std::getline(lines, line);) {
    if (!names_a_file(line)) arguments.push_back(line);
  }
  std::reverse(arguments.begin(), arguments.end());  // as App::parse(vector) wants them
  if (bytes.size() % 2 == 0) {
    parse<commands::ProfileOptions>(arguments, true);
  } else {
    parse<commands::AbOptions>(arguments);
  }
}

}  // namespace causalctl::fuzz
