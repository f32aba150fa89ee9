// `causalctl inputs run -- CMD` runs a program under Valgrind and records the input sizes of its
// routines. The program ends as it would without causalctl, and causalctl with its exit status.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <bit>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/ends.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/commands/commands.h"
#include "controller/commands/launched.h"
#include "controller/commands/options.h"
#include "controller/inputs/run/run.h"
#include "controller/progress/naming.h"
#include "controller/session/status_line.h"

namespace causalctl::commands {
namespace {

constexpr std::uint64_t kLargestCell = 16;

struct InputsArguments {
  std::vector<std::string> words;
  std::vector<std::string> program;  // the words after --
  std::optional<std::uint64_t> cell;
  bool aprof_compatible = false;
  std::string log = "inputs.jsonl";
  ConsoleOptions console;
};

ExitCode run_inputs(const InputsArguments& arguments) {
  if (arguments.words.empty()) {
    throw UsageError("no program to run", "give it after --: causalctl inputs run -- ls -l");
  }
  if (arguments.words != arguments.program) {
    throw UsageError(fmt::format("{} does not come after --", arguments.words.front()),
                     fmt::format("a program and its arguments come after --, as in causalctl "
                                 "inputs run -- {}",
                                 arguments.words.front()));
  }
  set_log_level(arguments.console);
  inputs::RunSettings settings;
  settings.command = arguments.program;
  const std::uint64_t cell = arguments.cell.value_or(settings.cell_bytes);
  if (!std::has_single_bit(cell) || cell > kLargestCell) {
    throw UsageError(fmt::format("--cell {}: a cell has 1, 2, 4, 8 or 16 bytes", cell),
                     "4 fits most programs; 1 tells bytes apart, and needs four times the memory");
  }
  settings.cell_bytes = static_cast<std::uint32_t>(cell);
  settings.aprof_compatible = arguments.aprof_compatible;
  settings.log = arguments.log;
  session::StatusLine status(arguments.console.quiet);
  inputs::RunHooks hooks;
  hooks.due = [&] { return status.due(); };
  hooks.show = [&](const std::string& text) {
    status.show(fmt::format("inputs of {}: {}", arguments.program.front(), text));
  };
  const inputs::RunOutcome outcome = inputs::run_program(settings, hooks);
  status.clear();
  log::note("to read on: causalctl report {}", progress::in_shell_quotes(settings.log));
  return outcome.recording.end->reason == "interrupted" ? ExitCode::ok
                                                        : told_exit_code(outcome.status);
}

}  // namespace

void add_inputs(CLI::App& app, Command& selected, std::vector<std::string> program) {
  CLI::App& sub = add_subcommand(app, "inputs", "how the cost of routines grows with their input");
  sub.require_subcommand(1);
  CLI::App& run = add_subcommand(
      sub, "run", "run a program under Valgrind, and record the input sizes of its routines",
      "The program runs about 20 to 50 times slower. Ctrl-C ends it, and the log has what it did "
      "until then.\n\n"
      "Examples:\n"
      "  causalctl inputs run -- ./prog --its-option\n"
      "  causalctl report inputs.jsonl");
  auto arguments = std::make_shared<InputsArguments>();
  arguments->program = std::move(program);
  add_words(run, "CMD", arguments->words, "", "the program and its arguments, after --");
  OptionGroup sizes(run, "Sizes");
  sizes.value("--cell", arguments->cell, "BYTES", "size of a cell: 1, 2, 4, 8 or 16 [4]");
  sizes.flag("--aprof-compatible", arguments->aprof_compatible,
             "count as aprof does: return addresses, all mappings, and what was written before a "
             "thread began");
  OptionGroup output(run, "Output");
  output.value("-o,--output", arguments->log, "FILE", "the log, appended to [inputs.jsonl]");
  output.flag("-q,--quiet", arguments->console.quiet, "no progress and no notes");
  on_selected(run, selected, [arguments] { return run_inputs(*arguments); });
}

}  // namespace causalctl::commands
