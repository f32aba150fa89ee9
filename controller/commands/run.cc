// `causalctl run -- CMD` starts a program, suspends it before its own first instruction, when its
// libraries are loaded, and profiles it from there. If the profile ends first (--duration, Ctrl-C),
// the program is asked to end.
#include <fmt/format.h>

#include <memory>

#include "config/load.h"
#include "controller/base/error.h"
#include "controller/causal/record/log.h"
#include "controller/commands/commands.h"
#include "controller/commands/launched.h"
#include "controller/commands/options.h"
#include "controller/commands/profile.h"
#include "controller/tracee/guardian/guardian.h"

namespace causalctl::commands {
namespace {

struct RunArguments {
  std::vector<std::string> command;
  std::vector<std::string> program;  // the words after --
  std::unique_ptr<ProfileOptions> options;
};

ExitCode run(const RunArguments& arguments) {
  refuse_program_before_dashes(arguments.command, arguments.program);
  config::Config config = arguments.options->config();
  const ConsoleOptions console = arguments.options->console();
  set_log_level(console);
  if (!arguments.command.empty()) {  // in place of the target that the file names
    config.target.pid.reset();
    config.target.match.clear();
    config.target.command = arguments.command;
  }
  config::check(config);
  if (config.target.command.empty()) {
    throw UsageError("no program to run", "give it after --, or as `command` in [target]");
  }
  causal::check_log(config.output.log);
  if (config.progress.end_to_end) return run_end_to_end(config, console);
  return with_program(config.target, true, [&](Pid pid, tracee::Guardian& guardian) {
    return profile(config, pid, guardian, console);
  });
}

}  // namespace

void add_run(CLI::App& app, Command& selected, std::vector<std::string> program) {
  CLI::App& sub =
      add_subcommand(app, "run", "start a program and profile it from the beginning",
                     "When the profile ends before the program does, the program gets SIGTERM.\n\n"
                     "Examples:\n"
                     "  causalctl run --progress item_done --duration 2m -- ./server --port 8080\n"
                     "  causalctl run --end-to-end --duration 5m -- gzip -kc big.tar\n"
                     "  causalctl run --config profile.toml");
  auto arguments = std::make_shared<RunArguments>();
  arguments->program = std::move(program);
  add_words(sub, "CMD", arguments->command, "", "the program and its arguments, after --");
  arguments->options = std::make_unique<ProfileOptions>(sub, true);
  on_watching(sub, selected, [arguments] { return run(*arguments); });
}

}  // namespace causalctl::commands
