// `causalctl callpath SET` and `callpath -- CMD` record the call paths of processes and print them.
//
// Nothing is put into the process: perf events see it from outside, and die with causalctl. Only a
// program that is started has a guardian, which suspends it until everything is set up.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "config/text.h"
#include "controller/base/ends.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/number.h"
#include "controller/base/printable.h"
#include "controller/base/procfs.h"
#include "controller/callpath/calls_seen.h"
#include "controller/callpath/event_spec.h"
#include "controller/callpath/log.h"
#include "controller/callpath/run.h"
#include "controller/commands/callpath_report.h"
#include "controller/commands/commands.h"
#include "controller/commands/launched.h"
#include "controller/commands/options.h"
#include "controller/commands/process_set_options.h"
#include "controller/progress/naming.h"
#include "controller/progress/progress.h"
#include "controller/session/children.h"
#include "controller/session/facilities.h"
#include "controller/session/identity.h"
#include "controller/session/process_set.h"
#include "controller/session/status_line.h"
#include "controller/session/target_end.h"
#include "controller/session/write_or_end.h"
#include "controller/tracee/adoption.h"
#include "controller/tracee/end_watch.h"
#include "controller/tracee/guardian/guardian.h"
#include "unwind/obstacle.h"
#include "unwind/symbolizer.h"

namespace causalctl::commands {
namespace {

constexpr Nanoseconds kShortestPeriod = 100 * kMicrosecond;
constexpr Nanoseconds kLongestPeriod = kSecond;
constexpr Nanoseconds kShortestEpoch = 100 * kMillisecond;
constexpr std::string_view kEvery = "every ";
constexpr std::string_view kOn = "on ";
constexpr std::string_view kDlopen = "dlopen";

struct CallpathArguments {
  SetWords set;                      // its words may be the program
  std::vector<std::string> program;  // the words after --
  std::string duration, period = "auto", threads = "all";
  std::vector<std::string> events, counts, epochs;
  std::string slowdown = "3";
  bool wakers = false;
  std::string log = "callpath.jsonl";
  ReportOptions report;
  ConsoleOptions console;
};

// Returns whether a program is to be started. Throws UsageError if processes are named as well, or
// nothing is.
bool names_program(const CallpathArguments& arguments) {
  const std::vector<std::string> ways = ways_of(arguments.set);
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

Nanoseconds period_of(const std::string& text) {
  if (text == "auto") return kMillisecond;
  const Nanoseconds period_ns = config::parse_duration(text, "--period");
  if (period_ns < kShortestPeriod || period_ns > kLongestPeriod) {
    throw UsageError(
        fmt::format("--period {}: not from {} to {}", text, config::duration_text(kShortestPeriod),
                    config::duration_text(kLongestPeriod)),
        "1ms is usual");
  }
  return period_ns;
}

double slowdown_of(const std::string& text) {
  constexpr double kMost = 1000;
  const auto percent = parse_number<double>(text);
  if (percent && *percent > 0 && *percent <= kMost) return *percent / 100;
  throw UsageError(
      fmt::format("--max-slowdown {}: not a percentage above 0, and at most 1000", printable(text)),
      "3 is usual");
}

callpath::EpochSettings epochs_of(const std::vector<std::string>& options) {
  callpath::EpochSettings settings;
  for (const std::string& option : options) {
    if (option == kDlopen) {
      settings.libraries = true;
    } else if (option.starts_with(kEvery)) {
      settings.every_ns = config::parse_duration(option.substr(kEvery.size()), "--epoch");
      if (*settings.every_ns < kShortestEpoch) {
        throw UsageError(fmt::format("--epoch {}: shorter than {}", option,
                                     config::duration_text(kShortestEpoch)),
                         "every 10s is usual");
      }
    } else if (option.starts_with(kOn)) {
      settings.points.push_back(option.substr(kOn.size()));
      progress::parse_spec(settings.points.back());
    } else {
      throw UsageError(fmt::format("--epoch {}: unknown", option),
                       "for example --epoch 'every 10s', --epoch dlopen, --epoch 'on usdt:p:n'");
    }
  }
  return settings;
}

void add_once(callpath::EventSpec spec, std::vector<callpath::EventSpec>& specs) {
  const bool is_there = std::any_of(
      specs.begin(), specs.end(), [&](const auto& each) { return each.option() == spec.option(); });
  if (!is_there) specs.push_back(std::move(spec));
}

// Leaves out what needs records of switches: without them no wait has an end.
void leave_out_waits(const Trial& no_switches, callpath::Settings& settings) {
  settings.left_out.push_back(
      fmt::format("where threads wait is not recorded{}: records of their switches are not seen "
                  "here ({})",
                  settings.wakers ? ", nor who ends waits (--wakers)" : "", no_switches.finding));
  settings.waits = settings.wakers = false;
}

// Tries what the recording relies on, and leaves out what is not possible here. Throws Error if
// the recording itself is not.
void try_facilities(callpath::Settings& settings) {
  settings.tried = session::try_facilities("recording of call paths");
  const Trial* no_switches = find_vain(settings.tried, Facility::switch_record);
  if (no_switches != nullptr && settings.waits) leave_out_waits(*no_switches, settings);
}

callpath::Settings settings_of(const CallpathArguments& arguments) {
  callpath::Settings settings;
  if (!arguments.duration.empty()) {
    settings.duration_ns = config::parse_duration(arguments.duration, "--duration");
  }
  settings.period_ns = period_of(arguments.period);
  const auto groupings = names_of(callpath::Grouping{});
  if (std::find(groupings.begin(), groupings.end(), arguments.threads) == groupings.end()) {
    throw UsageError(fmt::format("--threads {}: unknown", arguments.threads),
                     fmt::format("one of {}", fmt::join(groupings, ", ")));
  }
  settings.grouping = value_of<callpath::Grouping>(arguments.threads);
  if (!arguments.events.empty()) settings.waits = false;
  for (const std::string& event : arguments.events) {
    if (event == "offcpu") settings.waits = true;
    if (event == "cpu" || event == "offcpu") continue;
    add_once(callpath::parse_event(event), settings.events);
  }
  for (const std::string& function : arguments.counts) {
    add_once(callpath::parse_count(function), settings.events);
  }
  if (settings.events.size() > callpath::kMostEvents) {
    throw UsageError(
        fmt::format("--event, --count: at most {} can be recorded", callpath::kMostEvents));
  }
  settings.most_slowdown = slowdown_of(arguments.slowdown);
  settings.wakers = arguments.wakers;
  if (settings.wakers && !settings.waits) {
    throw UsageError("--wakers: waits are not recorded, as no --event is offcpu",
                     "add --event offcpu");
  }
  settings.epochs = epochs_of(arguments.epochs);
  settings.seed = std::random_device()();
  return settings;
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

// What is recorded, and what is to be done with it at its times.
struct Watched {
  Pid target = 0;    // of one process
  std::string text;  // "process 4711", "--match nginx (5 processes)"
  std::function<void()> begun = [] {};
  std::function<void()> followed = [] {};
  std::function<void()> ended = [] {};  // completes the recording
};

// The recording knows what it is of.
ExitCode record_watched(const Watched& watched, const CallpathArguments& arguments,
                        const callpath::Settings& settings, callpath::Recording& recording) {
  recording.seed = settings.seed;
  std::optional<Interrupts> interrupts(std::in_place);
  session::StatusLine status(arguments.console.quiet);
  std::optional<callpath::LogWriter> log;
  const auto write = [&](const std::function<void()>& part) {
    session::write_or_end(recording, part);
  };
  callpath::Hooks hooks;
  hooks.show = [&](const std::string& text) {
    if (status.due()) status.show(fmt::format("call paths of {}: {}", watched.text, text));
  };
  hooks.interrupts = [] { return Interrupts::count(); };
  hooks.followed = watched.followed;
  hooks.begun = [&] {
    watched.begun();
    log.emplace(arguments.log);
    log->begin(recording);
  };
  hooks.written = [&] { write([&] { log->update(recording); }); };
  callpath::record(watched.target, settings, hooks, recording);
  status.clear();
  watched.ended();
  recording.ended = true;
  write([&] { log->end(recording); });
  interrupts.reset();
  write([&] { log->finish(); });
  INVARIANT(callpath::sum_calls(recording));
  CallpathView view;
  view.wakers = settings.wakers && !recording.wakers.empty();
  write_callpath_report({&recording, 1}, {}, arguments.report, view);
  if (!recording.log_failure.empty()) {
    throw Error(recording.log_failure + ": the log is not complete",
                "what was recorded is in the report above; choose another --output");
  }
  require_samples(recording, settings.waits);
  if (arguments.report.format == "text") {
    causalctl::log::note("to read on: causalctl report {} --by line, or --format html -o page.html",
                         progress::in_shell_quotes(arguments.log));
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
  std::optional<session::Children> children;
  const tracee::EndWatch end_watch(target);
  Watched watched{target, fmt::format("process {}", target)};
  watched.begun = [&] { children.emplace(target); };
  watched.followed = [&] {
    if (guardian != nullptr && guardian->is_suspended()) guardian->release();
  };
  watched.ended = [&] {
    if (auto text = text_of(children->seen(), target, "causalctl callpath")) {
      recording.warnings.push_back(std::move(*text));
    }
    session::learn_end(guardian, end_watch, recording);
  };
  return record_watched(watched, arguments, settings, recording);
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

ExitCode record_set(const SetChoice& choice, const CallpathArguments& arguments,
                    callpath::Settings settings) {
  const std::shared_ptr<session::BoundedSet> set = set_of(choice);
  settings.set = set;
  callpath::Recording recording;
  recording.set = choice.name;
  if (choice.description.kind == session::SetKind::children) {
    session::identify(choice.description.pids.front(), recording);
  } else {
    session::identify(recording);
  }
  Watched watched{0, choice.text};
  watched.ended = [&] {
    if (auto text = set->text_of_left_out(); !text.empty()) {
      recording.warnings.push_back(std::move(text));
    }
  };
  return record_watched(watched, arguments, settings, recording);
}

ExitCode record_processes(const CallpathArguments& arguments, callpath::Settings settings) {
  const SetChoice choice = choose_set(arguments.set);
  if (!choice.is_single) {
    check_for_set(choice, settings);
    try_facilities(settings);
    return record_set(choice, arguments, std::move(settings));
  }
  const Pid pid = choice.pids.front();
  session::require_program(pid);
  tracee::check_readable(pid, getpid());
  try_facilities(settings);
  return record_process(pid, arguments, settings, nullptr);
}

ExitCode run(const CallpathArguments& arguments) {
  set_log_level(arguments.console);
  callpath::Settings settings = settings_of(arguments);
  check_callpath_format(arguments.report.format, arguments.report.path);
  callpath::check_log(arguments.log);
  if (!names_program(arguments)) return record_processes(arguments, std::move(settings));
  try_facilities(settings);
  config::Target target;
  target.command = arguments.program;
  return with_program(target, names_code(settings), [&](Pid pid, tracee::Guardian& guardian) {
    return record_process(pid, arguments, settings, &guardian);
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
                     "  causalctl callpath -- ./prog --its-option");
  auto arguments = std::make_shared<CallpathArguments>();
  arguments->program = std::move(program);
  add_words(sub, "PID|NAME|CMD", arguments->set.processes, "",
            "the process or processes, or after -- a program and its arguments");
  add_set_options(sub, arguments->set);
  OptionGroup recording(sub, "Recording");
  recording.value("--duration", arguments->duration, "TIME",
                  "how long it records, as in 90s or 5m [until Ctrl-C or the target's end]");
  recording.value("--period", arguments->period, "auto|TIME",
                  "CPU time of a thread from one of its samples to the next [auto: 1ms]");
  recording.list("--event", arguments->events, callpath::kEventForms,
                 "what is recorded: time on a core, time spent waiting [both], and events by path: "
                 "page faults, a system call, calls of a function, cycles");
  recording.list(
      "--count", arguments->counts, "FUNCTION",
      "count all calls of a function, exactly if they are not too many; with their paths");
  recording.flag("--wakers", arguments->wakers,
                 "record, and show at the end, who ended the time in which threads were blocked, "
                 "also one process of a set that of another");
  recording.value(
      "--max-slowdown", arguments->slowdown, "PERCENT",
      "what uprobes of --event and --count may cost a thread; dearer ones are recorded in bursts "
      "[3]");
  recording.value("--threads", arguments->threads, "all|by-name|each|by-start",
                  "which threads are told apart [all are one group]");
  recording.list("--epoch", arguments->epochs, "every TIME|dlopen|on SPEC",
                 "when an epoch begins, by which a report tells times apart: regularly, when "
                 "libraries are loaded or unloaded, at a visit of a point; may be repeated [one]");
  OptionGroup output(sub, "Output");
  output.value("-o,--output", arguments->log, "FILE",
               "the log, to which the recording is appended [callpath.jsonl]");
  output.value("--format", arguments->report.format, kCallpathFormats,
               "what is printed at the end [text]");
  output.flags("--quiet", arguments->console.quiet, "neither notes nor a status line", "--verbose",
               arguments->console.verbose, "print what is done, on standard error");
  output.color(arguments->report.color);
  on_watching(sub, selected, [arguments] { return run(*arguments); });
}

}  // namespace causalctl::commands
