// `causalctl attach PID` makes a causal profile of a running process.
//
// The guardian is forked first, before anything exists that it must not keep alive. It adopts the
// target (and refuses one that cannot be profiled). profile() does the rest, which these files
// explain:
//
//   commands/profile.cc, session/attachment.h   what is set up around the target and taken away
//   causal/experiments/experiment_loop.h        which unit is sped up, and when
//   causal/engine/engine.h                      how a sample in that unit becomes pauses
#include <fmt/format.h>

#include <memory>

#include "config/load.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"
#include "controller/causal/record/log.h"
#include "controller/commands/commands.h"
#include "controller/commands/options.h"
#include "controller/commands/profile.h"
#include "controller/tracee/guardian/guardian.h"

namespace causalctl::commands {
namespace {

struct AttachArguments {
  std::string process;
  std::unique_ptr<ProfileOptions> options;
};

ExitCode attach(const AttachArguments& arguments) {
  config::Config config = arguments.options->config();
  const ConsoleOptions console = arguments.options->console();
  set_log_level(console);
  if (!arguments.process.empty()) {  // in place of the target that the file names
    config.target.pid = process_of(arguments.process);
    config.target.match.clear();
    config.target.command.clear();
  }
  config::check(config);
  if (!config.target.command.empty()) {
    throw UsageError("the configuration names a command to start, not a process to attach to",
                     "use `causalctl run`, or give a PID");
  }
  causal::check_log(config.output.log);
  tracee::Guardian guardian;
  const Pid target =
      config.target.pid ? *config.target.pid : procfs::find_process(config.target.match);
  guardian.adopt(target);
  return profile(config, target, guardian, console);
}

}  // namespace

void add_attach(CLI::App& app, Command& selected) {
  CLI::App& sub = add_subcommand(
      app, "attach", "causal profile of a running process",
      "Ctrl-C ends the profile, detaches and prints the report; a second one ends causalctl at "
      "once.\n\n"
      "Examples:\n"
      "  causalctl attach 4711 --progress server.c:210 --duration 90s\n"
      "  causalctl attach memcached --progress syscall:sendmsg --duration 2m\n"
      "  causalctl attach 4711 --progress commit --fixed hash.c:217 --speedup 50 --duration 60s");
  auto arguments = std::make_shared<AttachArguments>();
  add_process(sub, arguments->process, "the process (or [target] of --config names it)");
  arguments->options = std::make_unique<ProfileOptions>(sub, false);
  on_watching(sub, selected, [arguments] { return attach(*arguments); });
}

}  // namespace causalctl::commands
