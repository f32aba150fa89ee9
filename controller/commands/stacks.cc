// `causalctl stacks PID` shows where each thread of a process stands at this moment. Blocked
// threads are read without a stop, others are stopped one at a time, for some tens of microseconds.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/procfs.h"
#include "controller/commands/commands.h"
#include "controller/commands/output.h"
#include "controller/report/stacks/model.h"
#include "controller/session/status_line.h"
#include "controller/stacks/walk.h"
#include "controller/tracee/adoption.h"
#include "unwind/obstacle.h"

namespace causalctl::commands {
namespace {

constexpr Nanoseconds kSilent = kSecond;  // most stacks are there before

struct StacksArguments {
  std::string process;
  std::string format = "text";
  std::string path;
  bool each = false;
  bool reference = false;
  bool quiet = false;
  bool verbose = false;
  Color color = Color::automatic;
};

report::stacks::Process take(Pid pid, const StacksArguments& arguments) {
  session::StatusLine status(arguments.quiet);
  stacks::Hooks hooks;
  hooks.names = [&, begin_ns = monotonic_now()](std::size_t done, std::size_t all) {
    if (monotonic_now() - begin_ns < kSilent || !status.due()) return;
    status.show(fmt::format("reading debug information: {} of {} threads", done, all));
  };
  return stacks::stacks_of(pid, arguments.reference, hooks);
}

// Throws if there is nothing to show.
void check_result(const report::stacks::Process& process) {
  using report::stacks::Taken;
  const auto& threads = process.threads;
  if (threads.empty()) throw TargetGone(fmt::format("process {} has ended", process.pid));
  const auto none = [](const auto& each) { return each.taken == Taken::not_read; };
  if (!std::all_of(threads.begin(), threads.end(), none)) return;
  throw Error(fmt::format("no thread of process {} ({}) could be read; thread {}: {}", process.pid,
                          process.name, threads.front().tid, threads.front().remark));
}

ExitCode run_stacks(const StacksArguments& arguments) {
  if (arguments.format != "text" && arguments.format != "json") {
    throw UsageError(fmt::format("--format: \"{}\" is not a format of stacks", arguments.format),
                     "use text or json");
  }
  const std::string hint = "name another file with --output";
  check_output(arguments.path, hint);
  const Pid pid = process_of(arguments.process);
  tracee::check_readable(pid, getpid());
  if (!arguments.quiet) unwind::note_obstacle(pid);
  const report::stacks::Process process = take(pid, arguments);
  check_result(process);
  if (arguments.format == "json") {
    write_output(arguments.path, report::stacks::render_json(process), hint);
    return ExitCode::ok;
  }
  const bool to_terminal = arguments.path.empty() || arguments.path == "-";
  report::stacks::TextOptions options;
  options.each = arguments.each;
  options.times = arguments.verbose;
  options.color =
      to_terminal ? use_color(arguments.color, STDOUT_FILENO) : arguments.color == Color::always;
  write_output(arguments.path, report::stacks::render_text(process, options), hint);
  return ExitCode::ok;
}

}  // namespace

void add_stacks(CLI::App& app, Command& selected) {
  CLI::App& sub = add_subcommand(
      app, "stacks", "the stacks of all threads of a process at this moment",
      "Examples:\n"
      "  causalctl stacks 4711\n"
      "  causalctl stacks 4711 --each --verbose     every thread, and how long it was stopped\n"
      "  causalctl stacks 4711 --format json -o stacks.json");
  auto arguments = std::make_shared<StacksArguments>();
  add_process(sub, arguments->process, "the process", true);
  OptionGroup taking(sub, "Taking");
  taking.flag("--reference", arguments->reference,
              "stop every thread, and unwind it by libunwind-ptrace meanwhile: slow, to compare");
  OptionGroup output(sub, "Output");
  output.flag("--each", arguments->each,
              "every thread by itself [threads with one stack are shown together]");
  output.value("--format", arguments->format, "text|json", "format to write [text]");
  output.value("-o,--output", arguments->path, "OUT",
               "where the stacks go [standard output]; a file is readable only by its owner");
  output.color(arguments->color);
  output.flag("--quiet", arguments->quiet, "no status line and no notes");
  output.flag("--verbose", arguments->verbose, "how each stack was taken, and how long a stop was");
  on_watching(sub, selected, [arguments] { return run_stacks(*arguments); });
}

}  // namespace causalctl::commands
