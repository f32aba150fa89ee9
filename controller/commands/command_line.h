// The command line as the subcommands describe it, on top of CLI11. Only command_line.cc and
// main.cc include CLI11's headers, which take longer to compile than all the rest of a subcommand.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
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

// What to do about an empty word, such as a quoted variable gives.
inline constexpr const char* kIsVariableSet = "is a variable of the shell not set?";

// `footer` stands below the options in the subcommand's help.
CLI::App& add_subcommand(CLI::App& app, const std::string& name, const std::string& text,
                         const std::string& footer = "");

// Sets `selected` to `command` if the command line names `subcommand`.
void on_selected(CLI::App& subcommand, Command& selected, Command command);
// The same for a command that watches a process. Before it begins, /proc must be that of our PID
// namespace, and causalctl has become the first to be ended where memory runs out.
void on_watching(CLI::App& subcommand, Command& selected, Command command);

// Returns what the user probably meant by words that the command line does not know: a subcommand
// or an option that is spelled in another way, or a program after `run` without the `--`. Returns
// an empty text if there is no guess.
std::string hint_for(const CLI::App& app, const std::vector<std::string>& words);

// Adds the positional argument for a process: its PID, or its name.
void add_process(CLI::App& app, std::string& word, const std::string& text, bool required = false);
// Returns the process that such a word means; white space around it means nothing. Throws
// UsageError if the word is empty, and as procfs::find_process() does, which takes `way_to_all`. A
// process with this PID need not exist.
Pid process_of(const std::string& text, std::string_view way_to_all = {});
// Add arguments outside any group: positional ones, and options without a heading. `type` is empty
// if the name says it. An empty value is refused, here and in groups, but not an empty word of
// several, which may be an argument of a program.
void add_word(CLI::App& app, const std::string& name, std::string& value, const std::string& type,
              const std::string& text);
void add_words(CLI::App& app, const std::string& name, std::vector<std::string>& values,
               const std::string& type, const std::string& text, bool required = false);

// Returns the words after the first `--`: a program to start, and its arguments. Nothing else on a
// command line is ever started.
std::vector<std::string> after_dashes(const std::vector<std::string>& words);
// Returns the words as CLI11 takes them, the last one first. CLI11 takes a `--` that follows an
// option with an optional value as the end of its values; it needs a second one there. Throws
// UsageError if such a value is empty.
std::vector<std::string> words_for_parser(std::vector<std::string> words);
// Throws UsageError if an option has taken the `--` as its value.
void refuse_dashes_as_value(const CLI::App& app);

// Returns the values of some options with the names that the caller gives them, in the order in
// which the command line has them. Call it when the command line was parsed.
std::vector<std::pair<std::string, std::string>> in_order(const CLI::App& app,
                                                          const std::vector<std::string>& names);

// The options under one heading of the help. The variables that they are bound to must live until
// the command line is parsed.
class OptionGroup {
 public:
  OptionGroup(CLI::App& app, std::string heading) : app_(app), heading_(std::move(heading)) {}

  // `type` is what the help calls the value.
  void value(const std::string& name, std::string& value, const std::string& type,
             const std::string& text);
  void value(const std::string& name, std::optional<std::uint64_t>& value, const std::string& type,
             const std::string& text);
  // The value may be left out: `is_given` tells that the option is there. Its name must be one that
  // words_for_parser() knows.
  void optional_value(const std::string& name, std::string& value, bool& is_given,
                      const std::string& type, const std::string& text);
  // The option may be repeated; each takes one value.
  void list(const std::string& name, std::vector<std::string>& values, const std::string& type,
            const std::string& text);
  void flag(const std::string& name, bool& value, const std::string& text);
  void color(Color& value);  // --color
  // Adds two flags that exclude each other.
  void flags(const std::string& name, bool& value, const std::string& text,
             const std::string& other_name, bool& other_value, const std::string& other_text);

 private:
  CLI::App& app_;
  std::string heading_;
};

}  // namespace causalctl::commands
