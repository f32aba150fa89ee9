// `causalctl db DIR ACTION` tells what is in a database of continuous profiles, and changes it.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/ends.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/printable.h"
#include "controller/commands/commands.h"
#include "controller/commands/db_export.h"
#include "controller/commands/db_import.h"
#include "controller/commands/epochs_as_paths.h"
#include "controller/commands/output.h"
#include "controller/commands/this_host.h"
#include "controller/continuous/analysis/epoch_choice.h"
#include "controller/continuous/counts/callgrind_file.h"
#include "controller/continuous/record/database.h"

namespace causalctl::commands {
namespace {

using continuous::Database;

constexpr Nanoseconds kAnswerPatience =
    30 * kSecond;  // until a recorder has done what it was asked
constexpr Nanoseconds kAskEvery = 50 * kMillisecond;

struct DbArguments {
  std::string folder;
  std::vector<std::string> words;  // the action, and what it is given
  std::string epoch;               // what is exported; "all" if it is empty
  ExportOptions exported;
};

std::string losses_text(const continuous::Losses& losses) {
  std::string text;
  for (const auto& [kind, count] : losses) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, printable(kind));
  }
  return text.empty() ? "none" : text;
}

std::string status_of(const std::string& file) {
  const auto database = Database::read(file);
  const auto host = database.host();
  const auto epochs = database.epochs();
  std::uint64_t samples = 0;
  for (const auto& epoch : epochs) samples += epoch.samples;
  std::string text =
      fmt::format("{}: {}, Linux {}, {} cores, {}\n", printable(file), printable(host.name),
                  printable(host.kernel), host.cores, printable(host.processor));
  text += fmt::format("  {}; {} epochs, {} samples, {:.1f} MB\n",
                      Database::is_recording(file) ? "is being recorded" : "is not being recorded",
                      epochs.size(), samples, static_cast<double>(database.bytes()) / 1e6);
  if (const auto imports = database.exact_imports(); !imports.empty()) {
    std::uint64_t instructions = 0;
    std::int64_t last_ns = 0;
    for (const auto& each : imports) {
      instructions += each.instructions;
      last_ns = std::max(last_ns, each.imported_ns);
    }
    text += fmt::format("  exact counts of {} files, {} instructions, the last imported {}\n",
                        imports.size(), instructions, continuous::time_text(last_ns));
  }
  return text;
}

std::string list_of_exact(const Database& database) {
  const auto imports = database.exact_imports();
  if (imports.empty()) return {};
  std::string text = fmt::format("\n{:<19}  {:>16}  {:<12}  {}\n", "counted exactly",
                                 "instructions", "build-id", "file: command");
  for (const auto& each : imports) {
    text += fmt::format("{:<19}  {:>16}  {:<12}  {}: {}\n", continuous::time_text(each.imported_ns),
                        each.instructions, printable(each.image.build_id.substr(0, 12)),
                        printable(each.image.path), printable(each.command));
  }
  return text;
}

std::string list_of(const std::string& file) {
  const auto database = Database::read(file);
  std::string text =
      fmt::format("{}\n{:>5}  {:<19}  {:<19}  {:>10}  {:>10}  {:<16}  {}\n", printable(file),
                  "epoch", "begin", "end", "recorded", "samples", "name", "losses");
  for (const auto& epoch : database.epochs()) {
    text +=
        fmt::format("{:>5}  {:<19}  {:<19}  {:>8} s  {:>10}  {:<16}  {}\n", epoch.id,
                    continuous::time_text(epoch.begin_ns), continuous::time_text(epoch.end_ns),
                    epoch.recorded_ns / kSecond, epoch.samples,
                    epoch.name.empty() ? "-" : printable(epoch.name), losses_text(epoch.losses));
  }
  return text + list_of_exact(database);
}

// Asks the recorder, and waits until it has answered.
void ask(const std::string& file, const continuous::Request& request) {
  auto database = Database::beside(file);
  const std::int64_t asked = database.ask(request);
  const Nanoseconds until_ns = monotonic_now() + kAnswerPatience;
  while (true) {
    if (const auto answer = database.answer(asked)) {
      database.withdraw(asked);
      if (answer->empty()) return;
      throw Error(fmt::format("the recorder could not do it: {}", printable(*answer)),
                  "what it has recorded is kept in its memory until it can be written");
    }
    if (monotonic_now() >= until_ns || !Database::is_recording(file)) {
      database.withdraw(asked);
      throw Error(fmt::format("the recorder of {} has not answered", printable(file)),
                  "is it stopped, or has it ended just now? causalctl db DIR status tells");
    }
    sleep_until(monotonic_now() + kAskEvery);
  }
}

// In all that are being recorded; others may be of other hosts.
void begin_epoch(const std::vector<std::string>& files, const std::string& name) {
  bool is_begun = false;
  for (const std::string& file : files) {
    if (!Database::is_recording(file)) continue;
    ask(file, {.kind = continuous::Request::Kind::epoch, .text = name});
    is_begun = true;
  }
  if (is_begun) return;
  throw Error(fmt::format("nobody records into {}{}", printable(files.front()),
                          files.size() == 1 ? "" : " or the others"),
              "each `causalctl record` begins an epoch; while it runs, this begins another one");
}

std::string flush(const std::string& file) {
  if (Database::is_recording(file)) {
    ask(file, {.kind = continuous::Request::Kind::flush});
  } else {
    Database::beside(file).merge();  // what a killed recorder has left
  }
  return "";
}

std::string check(const std::string& file) {
  Database::read(file).check();
  return fmt::format("{}: ok\n", printable(file));
}

std::string remove_unused(const std::string& file) {
  if (Database::is_recording(file)) {
    throw Error(fmt::format("{} is being recorded, and gc needs it alone", file),
                "end its recorder first; a recorder that starts removes unused names and kept "
                "files itself");
  }
  const std::uint64_t freed = Database::take(file, this_host()).remove_unused();
  return fmt::format("{}: {} bytes freed\n", printable(file), freed);
}

// What is done with each file, which returns what is to be written.
using Action = std::string (*)(const std::string& file);

Action action_of(const std::string& name) {
  if (name == "status") return status_of;
  if (name == "list") return list_of;
  if (name == "flush") return flush;
  if (name == "check") return check;
  if (name == "gc") return remove_unused;
  throw UsageError(fmt::format("db {}: no such action", name),
                   "status, list, epoch [NAME], flush, check, import FILE…, gc or export");
}

// One file that cannot be read must not hide the others.
ExitCode act_on_each(const std::vector<std::string>& files, const std::string& action) {
  const Action act = action_of(action);
  ExitCode code = ExitCode::ok;
  for (const std::string& file : files) {
    std::string text;
    try {
      text = act(file);
    } catch (const Error& error) {
      if (files.size() == 1) throw;
      text = printable_lines(error.what()) + "\n";
      if (action == "flush" || action == "check" || action == "gc") code = ExitCode::failed;
    }
    write_output("", text);
  }
  return code;
}

ExitCode run(const DbArguments& arguments) {
  const std::string action = arguments.words.empty() ? "status" : arguments.words.front();
  if (action == "import") {
    const std::vector<std::string> counted(arguments.words.begin() + 1, arguments.words.end());
    if (counted.empty())
      throw UsageError("db import: no file is named", continuous::callgrind_command());
    import_counts(arguments.folder, counted);
    return ExitCode::ok;
  }
  const bool takes_name = action == "epoch";
  if (arguments.words.size() > (takes_name ? 2U : 1U)) {
    throw UsageError(fmt::format("db {}: one word too many: {}", action, arguments.words.back()),
                     "causalctl db --help");
  }
  if (takes_name && arguments.words.back().empty()) {
    throw UsageError("db epoch: the name is empty", kIsVariableSet);
  }
  if (action == "export") {
    check_export(arguments.exported);
    const auto databases = open_databases(arguments.folder);
    export_epochs(choose_hosts(databases, arguments.epoch.empty() ? "all" : arguments.epoch),
                  arguments.exported);
    return ExitCode::ok;
  }
  const auto files = Database::files_in(arguments.folder);
  if (takes_name) {
    begin_epoch(files, arguments.words.size() > 1 ? arguments.words[1] : "");
    return ExitCode::ok;
  }
  return act_on_each(files, action);
}

}  // namespace

void add_db(CLI::App& app, Command& selected) {
  CLI::App& sub = add_subcommand(
      app, "db", "what is in a database of profiles",
      "Actions:\n"
      "  status        hosts, sizes, and whether they are being recorded (the usual one)\n"
      "  list          the epochs, with their losses\n"
      "  epoch [NAME]  begin a new epoch in what is being recorded\n"
      "  flush         write and merge what was recorded until now\n"
      "  check         look for damage\n"
      "  import FILE…  keep exact counts of instructions and jumps, by build, that valgrind has\n"
      "                written: valgrind --tool=callgrind --dump-instr=yes --collect-jumps=yes\n"
      "                --skip-plt=no --callgrind-out-file=FILE PROGRAM; files are summed\n"
      "  gc            remove names, kept files and exact counts of builds that no epoch has\n"
      "  export        write profiles for other programs; json has a line for each function of "
      "each\n"
      "                epoch, the other formats have all epochs together\n\n"
      "Examples:\n"
      "  causalctl db profiles list\n"
      "  causalctl db profiles epoch 'before the release'\n"
      "  causalctl db profiles import callgrind.out\n"
      "  causalctl db profiles export --epoch today --format pprof -o today.pb.gz");
  auto arguments = std::make_shared<DbArguments>();
  add_word(sub, "DIR", arguments->folder, "", "the folder that `causalctl record --db` writes");
  add_words(sub, "ACTION", arguments->words, "", "what to do, see below");
  OptionGroup exported(sub, "Export");
  exported.value("--epoch", arguments->epoch, "EPOCH",
                 "last, all, today, a name, a number, or a span of time [all]");
  exported.value("--label", arguments->exported.label, "NAME",
                 "only what was recorded with this label");
  exported.value("--format", arguments->exported.format, "FORMAT",
                 "json, folded, pprof, speedscope, firefox, callgrind, hatchet or html [json]");
  exported.value("-o,--output", arguments->exported.path, "FILE",
                 "write to a file [standard output]");
  on_selected(sub, selected, [arguments] { return run(*arguments); });
}

}  // namespace causalctl::commands
