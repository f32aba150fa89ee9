#include "controller/commands/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <utility>

#include "controller/base/number.h"
#include "controller/base/oom_score.h"
#include "controller/base/own_proc.h"
#include "controller/base/procfs.h"
#include "unwind/names/names.h"

namespace causalctl::commands {
namespace {

constexpr std::string_view kOptionalValue = "--children";  // the option that has one
constexpr std::string_view kItsCommand = "callpath";

[[noreturn]] void refuse_empty(std::string_view name) {
  throw UsageError(fmt::format("{}: the value is empty", name), kIsVariableSet);
}

// Returns an option's name as messages have it: the last one of "-o,--output".
std::string last_name(const std::string& names) { return names.substr(names.rfind(',') + 1); }

// An empty value would count as none.
std::function<void(std::string)> not_empty(const std::string& names) {
  return [name = last_name(names)](const std::string& given) {
    if (given.empty()) refuse_empty(name);
  };
}

}  // namespace

CLI::App& add_subcommand(CLI::App& app, const std::string& name, const std::string& text,
                         const std::string& footer) {
  CLI::App* subcommand = app.add_subcommand(name, text);
  if (!footer.empty()) subcommand->footer(footer);
  return *subcommand;
}

void on_selected(CLI::App& subcommand, Command& selected, Command command) {
  subcommand.callback([&selected, command = std::move(command)] { selected = command; });
}

void on_watching(CLI::App& subcommand, Command& selected, Command command) {
  on_selected(subcommand, selected, [command = std::move(command)] {
    require_own_proc();
    be_first_to_be_ended();
    return command();
  });
}

namespace {

std::string did_you_mean(const std::string& word, const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), word) != names.end()) return {};
  const auto near = unwind::nearest(word, names, 1);
  return near.empty() ? "" : fmt::format("did you mean {}?", near.front());
}

}  // namespace

std::string hint_for(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty()) return {};
  const std::string& first = words.front();
  std::vector<std::string> subcommands;
  const CLI::App* selected = nullptr;
  for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; })) {
    subcommands.push_back(each->get_name());
    if (each->get_name() == first) selected = each;
  }
  if (selected == nullptr) return did_you_mean(first, subcommands);
  std::vector<std::string> options;
  for (const CLI::Option* option : selected->get_options()) {
    for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
  }
  const auto end = std::find(words.begin(), words.end(), "--");
  for (auto word = words.begin() + 1; word != end; ++word) {
    if (!word->starts_with("--")) continue;
    if (auto hint = did_you_mean(word->substr(0, word->find('=')), options); !hint.empty()) {
      return hint;
    }
  }
  if (first != "run" || end != words.end()) return {};
  return "the program and its arguments come after --, as in causalctl run --progress main -- ls "
         "-la";
}

namespace {

// Returns it without the white space around it. Throws UsageError if nothing is left.
std::string trimmed_word(const std::string& text) {
  constexpr const char* kWhite = " \t\r\n";
  const auto begin = text.find_first_not_of(kWhite);
  if (begin == text.npos) {
    throw UsageError("the word that names the process is empty",
                     fmt::format("give a PID or a name; {}", kIsVariableSet));
  }
  return text.substr(begin, text.find_last_not_of(kWhite) + 1 - begin);
}

}  // namespace

Pid process_of(const std::string& text, std::string_view way_to_all) {
  const std::string word = trimmed_word(text);
  if (word.find_first_not_of("0123456789") != word.npos) {
    return procfs::find_process(word, way_to_all);
  }
  const Pid pid = parse_number<Pid>(word, 10).value_or(0);
  if (pid == 0) throw UsageError(word + " is not a process id");
  return pid;
}

std::vector<std::string> after_dashes(const std::vector<std::string>& words) {
  const auto dashes = std::find(words.begin(), words.end(), "--");
  return {dashes == words.end() ? dashes : dashes + 1, words.end()};
}

std::vector<std::string> words_for_parser(std::vector<std::string> words) {
  const auto dashes = std::find(words.begin(), words.end(), "--");
  // CLI11 does not tell an empty value from one that is left out.
  const auto option = std::find(words.begin(), dashes, kOptionalValue);
  if (option != dashes && option + 1 != dashes && (option + 1)->empty()) {
    refuse_empty(kOptionalValue);
  }
  const auto before = static_cast<std::size_t>(dashes - words.begin());
  const auto is_option = [&](std::size_t back) {
    return before >= back && *(dashes - static_cast<std::ptrdiff_t>(back)) == kOptionalValue;
  };
  const bool has_value = is_option(2) && !(dashes - 1)->starts_with('-');
  const bool is_its_command = !words.empty() && words.front() == kItsCommand;
  if (is_its_command && dashes != words.end() && (is_option(1) || has_value)) {
    words.insert(dashes, "--");
  }
  std::reverse(words.begin(), words.end());
  return words;
}

void refuse_dashes_as_value(const CLI::App& app) {
  for (const CLI::App* selected : app.get_subcommands()) {
    for (const CLI::Option* option : selected->get_options()) {
      const auto& values = option->results();
      if (option->get_positional() || std::find(values.begin(), values.end(), "--") == values.end())
        continue;
      throw UsageError(option->get_name() + " has no value before the --");
    }
  }
}

void add_process(CLI::App& app, std::string& word, const std::string& text, bool required) {
  app.add_option("PID|NAME", word, text)
      ->type_name("")
      ->required(required)
      ->each([](const std::string& given) { trimmed_word(given); });
}

void add_word(CLI::App& app, const std::string& name, std::string& value, const std::string& type,
              const std::string& text) {
  app.add_option(name, value, text)->type_name(type)->each(not_empty(name));
}

void add_words(CLI::App& app, const std::string& name, std::vector<std::string>& values,
               const std::string& type, const std::string& text, bool required) {
  app.add_option(name, values, text)->type_name(type)->required(required);
}

std::vector<std::pair<std::string, std::string>> in_order(const CLI::App& app,
                                                          const std::vector<std::string>& names) {
  std::vector<std::pair<std::string, std::string>> values;
  std::map<const CLI::Option*, std::size_t> met;
  for (const CLI::Option* option : app.parse_order()) {
    for (const std::string& name : names) {
      if (app.get_option(name) == option) {
        values.emplace_back(name, option->results().at(met[option]++));
      }
    }
  }
  return values;
}

void OptionGroup::value(const std::string& name, std::string& value, const std::string& type,
                        const std::string& text) {
  app_.add_option(name, value, text)->type_name(type)->group(heading_)->each(not_empty(name));
}

void OptionGroup::value(const std::string& name, std::optional<std::uint64_t>& value,
                        const std::string& type, const std::string& text) {
  // CLI11 would accept -1 as 2^64 - 1.
  const auto check = [name = last_name(name)](const std::string& given) {
    if (parse_number<std::uint64_t>(given)) return;
    throw UsageError(fmt::format("{}: \"{}\" is no such number", name, given),
                     "a whole number, 0 or more");
  };
  app_.add_option(name, value, text)->type_name(type)->group(heading_)->each(check);
}

void OptionGroup::optional_value(const std::string& name, std::string& value, bool& is_given,
                                 const std::string& type, const std::string& text) {
  INVARIANT(name == kOptionalValue);
  const auto set = [&](const std::string& given) {
    value = given;
    is_given = true;
  };
  app_.add_option_function<std::string>(name, set, text)
      ->expected(0, 1)
      ->type_name(type)
      ->group(heading_);
}

void OptionGroup::list(const std::string& name, std::vector<std::string>& values,
                       const std::string& type, const std::string& text) {
  app_.add_option(name, values, text)
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name(type)
      ->group(heading_)
      ->each(not_empty(name));
}

void OptionGroup::flag(const std::string& name, bool& value, const std::string& text) {
  app_.add_flag(name, value, text)->group(heading_);
}

void OptionGroup::color(Color& value) {
  const auto set = [&value](const std::string& text) {
    value = text == "always" ? Color::always : text == "never" ? Color::never : Color::automatic;
  };
  app_.add_option_function<std::string>("--color", set, "color in the text report [auto]")
      ->check(CLI::IsMember({"auto", "always", "never"}).description(""))
      ->type_name("auto|always|never")
      ->group(heading_);
}

void OptionGroup::flags(const std::string& name, bool& value, const std::string& text,
                        const std::string& other_name, bool& other_value,
                        const std::string& other_text) {
  CLI::Option* first = app_.add_flag(name, value, text)->group(heading_);
  app_.add_flag(other_name, other_value, other_text)->group(heading_)->excludes(first);
}

}  // namespace causalctl::commands
