// causalctl: reads the command line, runs one subcommand, turns what it throws into exit codes. The
// only place that catches.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "controller/base/ends.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/own_stack.h"
#include "controller/base/printable.h"
#include "controller/base/regular_file.h"
#include "controller/base/signal_state.h"
#include "controller/base/standard_error.h"
#include "controller/base/thread.h"
#include "controller/commands/command_line.h"
#include "controller/commands/commands.h"
#include "controller/commands/output.h"

namespace {

using causalctl::ExitCode;

constexpr const char* kFooter =
    "Examples:\n"
    "  causalctl points 4711                                     what could count as progress\n"
    "  causalctl attach 4711 --progress server.c:210 --duration 90s\n"
    "  causalctl run --progress commit --duration 5m -- ./server --port 8080\n"
    "  causalctl ab --a ./old --b ./new                          which is faster, and by how much\n"
    "  causalctl report profile.jsonl --format json -o report.json\n"
    "  causalctl callpath 4711 --duration 30s                    who calls the time\n"
    "  causalctl inputs run -- ./prog input                      how cost grows with input\n"
    "  causalctl stacks 4711                                     where its threads stand\n"
    "  causalctl record --db profiles                            the machine, all the time\n"
    "  causalctl doctor 4711                                     can it be profiled here?\n"
    "\n"
    "SUBCOMMAND --help tells each one's options.\n"
    "\n"
    "Exit codes: 0 ok, 1 failed or no result, 2 usage or configuration, 3 the target was gone\n"
    "before there was a result, 70 a bug in causalctl. Instead of 0, run, callpath and inputs run\n"
    "end with the status of the program that they have started: its own, or 128 + N after signal\n"
    "N. A signal ends causalctl where there is nothing to report yet, or no longer: 130 by\n"
    "Ctrl-C, 143 by SIGTERM in a shell.";

// A pipe that closed and a file that grew over its limit shall be errors of write(2), not deaths:
// a target must be let go first. Handlers, unlike SIG_IGN, are not inherited by what we exec.
void report_write_errors() {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGPIPE, &action, nullptr);
  ::sigaction(SIGXFSZ, &action, nullptr);
}

// Started without one of them, the next file opened would take its place: a socket, a log. Standard
// output is then opened for reading, so that a result that is written there is not lost without a
// word (commands/output.h).
void open_standard_files() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    // The open() of regular_file.h would not take the lowest number that is free.
    (void)!::openat(AT_FDCWD, "/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR);
  }
}

// Messages name functions, files and processes as the target calls them.
int fail(const std::string& what, const std::string& hint, ExitCode code) {
  using causalctl::printable_lines;
  namespace log = causalctl::log;
  log::to_stderr(fmt::format("causalctl: {}\n", printable_lines(what)));
  if (!hint.empty()) log::to_stderr(fmt::format("  hint: {}\n", printable_lines(hint)));
  return static_cast<int>(code);
}

int run(int argc, char** argv) {
  CLI::App app(
      "causal profiler for running, unmodified processes: which line, made faster, makes "
      "the program faster, and by how much");
  app.name("causalctl");
  app.set_version_flag("--version", "causalctl " CAUSALCTL_VERSION);
  app.footer(kFooter);
  app.get_formatter()->column_width(36);
  app.require_subcommand(0, 1);  // a later word may be called like one: a folder, a process

  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  causalctl::commands::Command selected;
  causalctl::commands::add_attach(app, selected);
  causalctl::commands::add_run(app, selected, causalctl::commands::after_dashes(words));
  causalctl::commands::add_ab(app, selected);
  causalctl::commands::add_report(app, selected);
  causalctl::commands::add_callpath(app, selected, causalctl::commands::after_dashes(words));
  causalctl::commands::add_inputs(app, selected, causalctl::commands::after_dashes(words));
  causalctl::commands::add_record(app, selected, causalctl::commands::after_dashes(words));
  causalctl::commands::add_prof(app, selected);
  causalctl::commands::add_calc(app, selected);
  causalctl::commands::add_stalls(app, selected);
  causalctl::commands::add_stats(app, selected);
  causalctl::commands::add_diff(app, selected);
  causalctl::commands::add_db(app, selected);
  causalctl::commands::add_points(app, selected);
  causalctl::commands::add_stacks(app, selected);
  causalctl::commands::add_doctor(app, selected);

  try {
    app.parse(causalctl::commands::words_for_parser(words));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      std::ostringstream text;
      app.exit(error, text, text);
      causalctl::commands::write_output("", text.str());
      return static_cast<int>(ExitCode::ok);
    }
    const std::string hint = causalctl::commands::hint_for(app, words);
    return fail(
        error.what(),
        hint.empty() ? "causalctl --help and causalctl SUBCOMMAND --help tell the options" : hint,
        ExitCode::usage);
  }
  causalctl::commands::refuse_dashes_as_value(app);
  // CLI11's own check of it would not name the word that is no subcommand.
  if (!selected) {
    throw causalctl::UsageError(
        "no subcommand is given",
        "attach, run, ab, report, callpath, inputs, record, prof, calc, stalls, stats, diff, db, "
        "points, stacks or doctor; causalctl --help");
  }
  return static_cast<int>(selected());
}

int run_and_catch(int argc, char** argv) {
  try {
    causalctl::begin_taking_signals();
    return run(argc, argv);
  } catch (const causalctl::Error& error) {
    return fail(error.what(), error.hint(), error.code());
  } catch (const causalctl::Bug& bug) {
    return fail(fmt::format("bug: {}", bug.what()), "please report it with the command line",
                ExitCode::bug);
  } catch (const std::bad_alloc&) {
    return fail("out of memory", "", ExitCode::failed);
  } catch (const std::system_error& error) {  // the system's refusal, which nobody has explained
    return fail(error.what(), causalctl::kLimitHint, ExitCode::failed);
  } catch (const std::exception& error) {
    return fail(fmt::format("bug: {}", error.what()), "please report it with the command line",
                ExitCode::bug);
  }
}

}  // namespace

int main(int argc, char** argv) {
  causalctl::SignalState::at_start();
  ::signal(SIGCHLD, SIG_DFL);  // ignored, our children's ends could not be waited for
  open_standard_files();
  report_write_errors();
  causalctl::survive_cut_files();
  const int code = causalctl::with_own_stack(run_and_catch, argc, argv);
  causalctl::standard_error::flush();
  // Threads that read debug information are not waited for. They may use what exit(3) destroys.
  ::_exit(code);
}
