// The command line as the subcommands describe it, over CLI11, whose headers only command_line.cc
// and main.cc include: they take longer to compile than all the rest of a subcommand.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/error.h"
#include "controller/base/types.h"
#include "controller/commands/output.h"

namespace CLI {
class App;
}

namespace causalctl::commands {

using Command = std::function<ExitCode()>;

// `footer`: below the options in its help.
CLI::App& add_subcommand(CLI::App& app, const std::string& name, const std::string& text,
                         const std::string& footer = "");

// When the command line names `subcommand`, `selected` becomes `command`.
void on_selected(CLI::App& subcommand, Command& selected, Command command);

// What was probably meant by words that the command line does not know: a subcommand or an option
// that is spelled otherwise, a program after `run` without the `--`. Empty: no idea.
std::string hint_for(const CLI::App& app, const std::vector<std::string>& words);

// The positional argument PID.
void add_pid(CLI::App& app, Pid& pid, const std::string& text, bool required = false);
// Outside any group: positional arguments, and options under no heading of their own. Empty `type`:
// the name says it.
void add_word(CLI::App& app, const std::string& name, std::string& value, const std::string& type,
              const std::string& text);
void add_words(CLI::App& app, const std::string& name, std::vector<std::string>& values,
               const std::string& type, const std::string& text, bool required = false);

// The options under one heading of the help. What they are bound to must live until the command
// line has been parsed.
class OptionGroup {
 public:
  OptionGroup(CLI::App& app, std::string heading) : app_(app), heading_(std::move(heading)) {}

  // `type`: what the help calls the value.
  void value(const std::string& name, std::string& value, const std::string& type,
             const std::string& text);
  void value(const std::string& name, std::optional<std::uint64_t>& value, const std::string& type,
             const std::string& text);
  // May be repeated; each takes one value.
  void list(const std::string& name, std::vector<std::string>& values, const std::string& type,
            const std::string& text);
  void flag(const std::string& name, bool& value, const std::string& text);
  void color(Color& value);  // --color
  // Not both of them.
  void flags(const std::string& name, bool& value, const std::string& text,
             const std::string& other_name, bool& other_value, const std::string& other_text);

 private:
  CLI::App& app_;
  std::string heading_;
};

}  // namespace causalctl::commands
