// `causalctl callpath SET` and `callpath -- CMD` record the call paths of processes and print them.
//
// Nothing is put into the process: perf events see it from outside, and die with causalctl. Only a
// program that is started has a guardian, which suspends it until everything is set up.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "config/text.h"
#include "controller/base/ends.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"
#include "controller/base/standard_error.h"
#include "controller/callpath/record/calls_seen.h"
#include "controller/callpath/record/event_spec.h"
#include "controller/callpath/record/folded_kernel.h"
#include "controller/callpath/record/log.h"
#include "controller/callpath/record/shortened_paths.h"
#include "controller/callpath/run/run.h"
#include "controller/commands/callpath_options.h"
#include "controller/commands/callpath_report.h"
#include "controller/commands/commands.h"
#include "controller/commands/launched.h"
#include "controller/commands/options.h"
#include "controller/commands/process_set_options.h"
#include "controller/progress/naming.h"
#include "controller/progress/progress.h"
#include "controller/session/identity.h"
#include "controller/session/process_set.h"
#include "controller/session/status_line.h"
#include "controller/session/target_end.h"
#include "controller/session/watch.h"
#include "controller/session/write_or_end.h"
#include "controller/tracee/adoption.h"
#include "controller/tracee/guardian/guardian.h"
#include "unwind/modules/obstacle.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::commands {
namespace {

constexpr double kMuchInKernel = 0.2;  // share of the CPU time from which --kernel is named

struct CallpathArguments {
  SetWords set;                      // its words may be the program
  std::vector<std::string> program;  // the words after --
  std::unique_ptr<RecordingOptions> options;
  bool kernel = false;
  ReportOptions report;
  std::string log;  // of the options
};

// The target that the file names, where the command line names none. Throws UsageError if it names
// several, or not one process.
void take_target(const config::Target& target, CallpathArguments& arguments) {
  if (!ways_of(arguments.set).empty() || !arguments.program.empty()) return;
  const int targets =
      (target.pid ? 1 : 0) + (target.match.empty() ? 0 : 1) + (target.command.empty() ? 0 : 1);
  if (targets > 1) {
    throw UsageError("more than one target is named",
                     "give one of: PID, target.match, a command after --");
  }
  if (!target.command.empty()) {
    arguments.program = arguments.set.processes = target.command;
  } else if (targets == 1) {
    const std::string pid =
        std::to_string(target.pid ? *target.pid : procfs::find_process(target.match));
    if (arguments.set.with_children) {
      arguments.set.children = pid;
    } else {
      arguments.set.processes = {pid};
    }
  }
}

// Returns whether a program is to be started. Throws UsageError if processes are named as well, or
// nothing is.
bool names_program(const CallpathArguments& arguments) {
  const std::vector<std::string> ways = ways_of(arguments.set);
  if (arguments.set.with_children && arguments.set.children.empty() && arguments.program.empty()) {
    throw UsageError("--children has no PID, and no program comes after --",
                     "give one of them: --children 4711, or --children -- make");
  }
  if (ways.empty()) {
    throw UsageError("no process and no program to record",
                     "give a PID or a name, or a program after --; --match NAME, --all and others "
                     "name sets of processes");
  }
  if (arguments.program.empty()) return false;
  if (arguments.set.processes == arguments.program && ways.size() == 1) return true;
  throw UsageError(
      fmt::format("a program and processes are not recorded together: {}", fmt::join(ways, "; ")),
      "name processes, or give only a program, after --");
}

void require_samples(const callpath::Recording& recording, bool waits) {
  if (recording.chains.complete + recording.chains.incomplete > 0) return;
  if (!recording.slices.empty()) return;
  const std::string name =
      recording.set.empty() ? fmt::format("process {}", recording.pid) : recording.set;
  throw Error(fmt::format("no sample of {} came, which has one each {} of a thread's CPU time{}",
                          name, config::duration_text(recording.period_ns),
                          waits ? ", and no thread began or ended to wait"
                                : "; where threads wait was not recorded"),
              fmt::format("record {} at work, or for longer",
                          recording.set.empty() ? "the process" : "the processes"));
}

struct Recorded {
  session::Watch& watch;
  std::string text;                      // "process 4711", "--match nginx (5 processes)"
  tracee::Guardian* guardian = nullptr;  // of a program that was started
  std::function<void()> ended = [] {};   // completes the recording
};

// Tells which command answers the next question about a process that goes on.
void tell_next(const Recorded& recorded, const callpath::Recording& recording, bool waits_most) {
  const Pid pid = recording.pid;
  const bool goes_on =
      recording.reason == EndReason::duration || recording.reason == EndReason::interrupted;
  if (recorded.guardian != nullptr || !goes_on || pid == 0) return;
  if (waits_most) {
    causalctl::log::note("next: causalctl callpath {} --wakers   # who ends these waits", pid);
  } else if (!session::has_first_thread_ended(pid)) {
    causalctl::log::note("next: causalctl points {}   # what counts as work, for causalctl attach",
                         pid);
  }
}

// For who ends causalctl before it has printed the report.
void tell_of_log(const std::string& log) {
  standard_error::write(
      fmt::format("causalctl: ended before the report was printed; what was recorded is in {0}\n"
                  "  hint: causalctl report {0} prints it\n",
                  progress::in_shell_quotes(log)));
}

// The recording knows what it is of.
ExitCode record_watched(const Recorded& recorded, const CallpathArguments& arguments,
                        const callpath::Settings& settings, callpath::Recording& recording) {
  session::Watch& watch = recorded.watch;
  recording.seed = settings.seed;
  watch.begin_work();
  session::StatusLine status(arguments.options->console().quiet);
  std::optional<callpath::LogWriter> log;
  const auto write = [&](const std::function<void()>& part) {
    session::write_or_end(recording, part);
  };
  callpath::Hooks hooks;
  hooks.show = [&](const std::string& text) {
    if (status.due()) status.show(fmt::format("call paths of {}: {}", recorded.text, text));
  };
  hooks.followed = [&] {
    if (recorded.guardian != nullptr && recorded.guardian->is_suspended()) {
      recorded.guardian->release();
    }
  };
  hooks.begun = [&] {
    log.emplace(arguments.log);
    log->begin(recording);
  };
  hooks.written = [&] { write([&] { log->update(recording); }); };
  callpath::record(watch, settings, hooks, recording);
  status.clear();
  watch.learn_end(recorded.guardian, recording);
  recorded.ended();
  recording.ended = true;
  write([&] { log->end(recording); });
  watch.end_work();
  write([&] { log->finish(); });
  const AtEnd keeps([&] { tell_of_log(arguments.log); });
  callpath::shorten_paths(recording);
  INVARIANT(callpath::sum_calls(recording));
  CallpathView view;
  view.wakers = settings.wakers && !recording.wakers.empty();
  view.kernel = arguments.kernel && callpath::has_kernel_part(recording);
  if (arguments.kernel && !view.kernel) {
    recording.warnings.emplace_back(
        "functions of the kernel are not recorded (--kernel): samples of the kernel need "
        "CAP_PERFMON, and their names root and kernel.kptr_restrict below 2");
  }
  const double in_kernel = callpath::kernel_share(recording);
  choose_kernel_part({&recording, 1}, arguments.report.format, view);
  const bool waits_most = write_callpath_report({&recording, 1}, {}, arguments.report, view);
  if (!recording.log_failure.empty()) {
    throw Error(recording.log_failure + ": the log is not complete",
                "what was recorded is in the report above; choose another --output");
  }
  require_samples(recording, settings.waits);
  if (arguments.report.format == "text") {
    if (!view.wakers) tell_next(recorded, recording, waits_most);
    const bool tells = !view.kernel && in_kernel >= kMuchInKernel;
    causalctl::log::note(
        "to read on: causalctl report {} --by line, or --format html -o page.html{}",
        progress::in_shell_quotes(arguments.log),
        tells ? fmt::format("; {:.0f} % of the CPU time is in the kernel: --kernel "
                            "shows where",
                            100 * in_kernel)
              : "");
  }
  return ExitCode::ok;
}

ExitCode record_process(Pid target, const CallpathArguments& arguments,
                        const callpath::Settings& settings, tracee::Guardian* guardian) {
  callpath::Recording recording;
  {
    unwind::note_obstacle(target);
    unwind::Symbolizer symbolizer(target);
    session::identify(target, symbolizer, recording);
  }
  session::Watch watch(target);
  return record_watched({watch, fmt::format("process {}", target), guardian}, arguments, settings,
                        recording);
}

// Whether places in code must be found, of which some may be in libraries.
bool names_code(const callpath::Settings& settings) {
  return !settings.epochs.points.empty() ||
         std::any_of(settings.events.begin(), settings.events.end(), [](const auto& each) {
           return each.kind == callpath::EventSpec::Kind::function;
         });
}

// Throws UsageError for what is recorded of one process only.
void check_for_set(const SetChoice& choice, const callpath::Settings& settings) {
  const auto refuse = [&](const std::string& option) {
    throw UsageError(
        fmt::format("{} is possible with one process only, not with {}", option, choice.text),
        fmt::format("name one process, or leave out {}", option));
  };
  if (settings.epochs.libraries) refuse("--epoch dlopen");
  if (!settings.epochs.points.empty()) {
    refuse(fmt::format("--epoch 'on {}'", settings.epochs.points.front()));
  }
  for (const callpath::EventSpec& event : settings.events) {
    if (event.kind == callpath::EventSpec::Kind::function) refuse(event.option());
  }
}

// With a guardian, the set is that of the program that it has started, and ends with it.
ExitCode record_set(const SetChoice& choice, const CallpathArguments& arguments,
                    const callpath::Settings& settings, tracee::Guardian* guardian) {
  const std::shared_ptr<session::BoundedSet> set = set_of(choice);
  callpath::Recording recording;
  recording.set = choice.name;
  // The command says more than the shell that a program begins with.
  if (choice.description.kind == session::SetKind::children && guardian == nullptr) {
    session::identify(choice.description.pids.front(), recording);
  } else {
    session::identify(recording);
  }
  session::Watch watch(set, guardian != nullptr ? choice.pids.front() : 0);
  const auto tell_left_out = [&] {
    if (auto text = set->text_of_left_out(); !text.empty()) {
      recording.warnings.push_back(std::move(text));
    }
  };
  return record_watched({watch, choice.text, guardian, tell_left_out}, arguments, settings,
                        recording);
}

ExitCode record_processes(const CallpathArguments& arguments, callpath::Settings settings) {
  const SetChoice choice = choose_set(arguments.set);
  if (!choice.is_single) {
    check_for_set(choice, settings);
    try_facilities(settings);
    return record_set(choice, arguments, settings, nullptr);
  }
  const Pid pid = choice.pids.front();
  tracee::check_readable(pid, getpid());
  try_facilities(settings);
  return record_process(pid, arguments, settings, nullptr);
}

ExitCode run(CallpathArguments& arguments) {
  config::Config config = arguments.options->config();
  set_log_level(arguments.options->console());
  arguments.report.color = arguments.options->console().color;
  arguments.log = config.callpath.log;
  take_target(config.target, arguments);
  callpath::Settings settings = settings_of(config.callpath);
  check_callpath_format(arguments.report.format, arguments.report.path);
  callpath::check_log(arguments.log);
  if (!names_program(arguments)) return record_processes(arguments, std::move(settings));
  const bool with_children = arguments.set.with_children;
  if (with_children) {
    check_for_set(choose_program_with_children(arguments.program, 0), settings);
  }
  try_facilities(settings);
  config.target.command = arguments.program;
  return with_program(
      config.target, names_code(settings), [&](Pid pid, tracee::Guardian& guardian) {
        if (!with_children) return record_process(pid, arguments, settings, &guardian);
        const SetChoice choice = choose_program_with_children(arguments.program, pid);
        return record_set(choice, arguments, settings, &guardian);
      });
}

}  // namespace

void add_callpath(CLI::App& app, Command& selected, std::vector<std::string> program) {
  CLI::App& sub =
      add_subcommand(app, "callpath", "who calls the time, and where threads wait",
                     "Ctrl-C ends the recording and prints the report.\n\n"
                     "Examples:\n"
                     "  causalctl callpath 4711 --duration 30s\n"
                     "  causalctl callpath memcached --threads by-name --format folded\n"
                     "  causalctl callpath --service nginx --duration 30s\n"
                     "  causalctl callpath --config paths.toml 4711\n"
                     "  causalctl callpath -- ./prog --its-option\n"
                     "  causalctl callpath --children -- make -j2");
  auto arguments = std::make_shared<CallpathArguments>();
  arguments->program = std::move(program);
  add_words(sub, "PID|NAME|CMD", arguments->set.processes, "",
            "the process or processes, or after -- a program and its arguments");
  add_set_options(sub, arguments->set, true);
  arguments->options = std::make_unique<RecordingOptions>(sub);
  OptionGroup output(sub, "Output");
  output.value("--format", arguments->report.format, kCallpathFormats,
               "what is printed at the end [text]");
  output.flag("--kernel", arguments->kernel,
              "show the functions of the kernel below the code that called it; the log has them "
              "anyway");
  on_watching(sub, selected, [arguments] { return run(*arguments); });
}

}  // namespace causalctl::commands
