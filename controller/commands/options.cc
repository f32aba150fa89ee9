#include "controller/commands/options.h"

#include <algorithm>
#include <utility>

#include "config/load.h"
#include "config/settings.h"
#include "controller/base/log.h"

namespace causalctl::commands {
namespace {

using config::Heading;
using config::Shape;

// The texts of the headings, indexed by Heading.
constexpr const char* kHeadings[] = {
    "Progress points", "Progress points",  "What is sped up",  "Experiments",
    "Output",          "What is compared", "What is measured", "How much is enough",
    "Prediction",      "Output",           "Recording",        "Output"};

}  // namespace

void ConfigOptions::add(CLI::App& app, Heading heading) {
  std::vector<Given> found;
  for (const config::Setting& setting : config::settings()) {
    for (const config::Option& option : setting.options) {
      if (option.heading != heading) continue;
      auto given = std::find_if(found.begin(), found.end(), [&](const Given& each) {
        return each.option->names == option.names;
      });
      if (given == found.end()) {
        given = found.emplace(found.end());
        given->option = &option;
      }
      given->settings.push_back(&setting);
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Given& a, const Given& b) { return a.option->line < b.option->line; });
  OptionGroup group(app, kHeadings[static_cast<std::size_t>(heading)]);
  for (Given& each : found) {
    Given& given = given_.emplace_back(std::move(each));
    const auto& [ignored, line, names, help, type, check] = *given.option;
    switch (given.settings.front()->shape) {
      case Shape::flag:
        group.flag(names, given.flag, help);
        break;
      case Shape::value:
        group.value(names, given.text, type, help);
        break;
      case Shape::list:
        group.list(names, given.list, type, help);
        break;
      case Shape::natural:
        group.value(names, given.number, type, help);
        break;
    }
  }
}

std::vector<std::string> ConfigOptions::Given::texts() const {
  if (flag) return {"true"};
  if (!text.empty()) return {text};
  if (number) return {std::to_string(*number)};
  return list;
}

ConfigOptions::ConfigOptions(CLI::App& app, const char* file_option) {
  add_word(app, file_option, file_, "FILE", "configuration file; the options here win");
  OptionGroup(app, "Configuration")
      .list("--set", lines_, "KEY=VALUE",
            "a line of a configuration file, as pause.longest='\"20ms\"' (repeatable)");
}

void ConfigOptions::add_console(CLI::App& app) {
  OptionGroup group(app, "Output");
  group.color(console_.color);
  group.flags("--quiet", console_.quiet, "print only results and errors",  //
              "--verbose", console_.verbose, "print what is done, on standard error");
}

config::Config ConfigOptions::config() const {
  config::Config config = file_.empty() ? config::Config{} : config::load(file_);
  for (const std::string& line : lines_) config::apply(line, "--set", config);
  for (const Given& given : given_) {
    const std::vector<std::string> texts = given.texts();
    if (texts.empty()) continue;
    const std::string& names = given.option->names;
    const std::string name = names.substr(names.find(',') + 1);  // all of it if there is no comma
    if (given.option->check != nullptr) given.option->check(texts.front(), name);
    for (const config::Setting* setting : given.settings) setting->give(texts, name, config);
  }
  return config;
}

ProfileOptions::ProfileOptions(CLI::App& app, bool runs_command) : ConfigOptions(app, "--config") {
  add(app, Heading::points);
  if (runs_command) add(app, Heading::points_of_run);
  for (const Heading heading : {Heading::scope, Heading::experiments, Heading::output}) {
    add(app, heading);
  }
  add_console(app);
}

AbOptions::AbOptions(CLI::App& app) : ConfigOptions(app, "CONFIG") {
  for (const Heading heading :
       {Heading::ab_sides, Heading::ab_measured, Heading::ab_enough, Heading::ab_prediction}) {
    add(app, heading);
  }
  OptionGroup(app, "Output")
      .value("-o,--output", output_, "FILE", "where the report goes [standard output]");
  add(app, Heading::ab_output);
  add_console(app);
}

RecordingOptions::RecordingOptions(CLI::App& app) : ConfigOptions(app, "--config") {
  add(app, Heading::recording);
  add(app, Heading::recording_output);
  add_console(app);
}

void set_log_level(const ConsoleOptions& console) {
  using log::Level;
  log::set_level(console.quiet ? Level::quiet : console.verbose ? Level::verbose : Level::normal);
}

}  // namespace causalctl::commands
