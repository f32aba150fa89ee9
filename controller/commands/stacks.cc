// `causalctl stacks SET` shows where each thread of processes stands at this moment. Blocked
// threads are read without a stop, others are stopped one at a time, for some tens of microseconds.
// The processes of a set are read one after another; those that cannot be read are told of.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/printable.h"
#include "controller/base/procfs.h"
#include "controller/commands/commands.h"
#include "controller/commands/output.h"
#include "controller/commands/process_set_options.h"
#include "controller/report/stacks/model.h"
#include "controller/session/status_line.h"
#include "controller/stacks/walk.h"
#include "controller/tracee/adoption.h"
#include "controller/tracee/process.h"
#include "unwind/modules/obstacle.h"

namespace causalctl::commands {
namespace {

constexpr Nanoseconds kSilent = kSecond;  // most stacks are there before
constexpr const char* kOtherFileHint = "name another file with --output";

struct StacksArguments {
  SetWords set;
  std::string format = "text";
  std::string path;
  bool each = false;
  bool reference = false;
  bool kernel = false;
  bool quiet = false;
  bool verbose = false;
  Color color = Color::automatic;
};

// Throws if there is nothing to show.
void check_result(const report::stacks::Process& process) {
  using report::stacks::Taken;
  const auto& threads = process.threads;
  if (threads.empty()) {
    throw TargetGone(fmt::format("process {} has ended", process.pid),
                     "see `ps -e` for those that run");
  }
  const auto none = [](const auto& each) { return each.taken == Taken::not_read; };
  if (!std::all_of(threads.begin(), threads.end(), none)) return;
  throw Error(fmt::format("no thread of process {} ({}) could be read; thread {}: {}", process.pid,
                          process.name, threads.front().tid, threads.front().remark),
              fmt::format("causalctl doctor {} tells what is not possible here", process.pid));
}

// Takes the stacks of processes, one after another.
class StackTaker {
 public:
  explicit StackTaker(const StacksArguments& arguments)
      : arguments_(arguments), status_(arguments.quiet) {}

  // Throws Error if no thread can be read. `place` says which process of how many it is.
  report::stacks::Process take(Pid pid, const std::string& place = "") {
    tracee::check_readable(pid, getpid());
    if (!arguments_.quiet) unwind::note_obstacle(pid);
    stacks::Hooks hooks;
    hooks.names = [&](std::size_t done, std::size_t all) {
      if (monotonic_now() - begin_ns_ < kSilent || !status_.due()) return;
      status_.show(fmt::format("{}reading debug information: {} of {} threads", place, done, all));
    };
    report::stacks::Process process =
        stacks::stacks_of(pid, {arguments_.reference, arguments_.kernel}, hooks);
    check_result(process);
    return process;
  }
  void clear_status() { status_.clear(); }

 private:
  const StacksArguments& arguments_;
  session::StatusLine status_;
  Nanoseconds begin_ns_ = monotonic_now();
};

report::stacks::TextOptions text_options(const StacksArguments& arguments) {
  const bool to_terminal = arguments.path.empty() || arguments.path == "-";
  report::stacks::TextOptions options;
  options.each = arguments.each;
  options.times = arguments.verbose;
  options.color =
      to_terminal ? use_color(arguments.color, STDOUT_FILENO) : arguments.color == Color::always;
  return options;
}

ExitCode show_one(Pid pid, const StacksArguments& arguments) {
  const report::stacks::Process process = StackTaker(arguments).take(pid);  // which ends its status
  write_output(arguments.path,
               arguments.format == "json"
                   ? report::stacks::render_json(process)
                   : report::stacks::render_text(process, text_options(arguments)),
               kOtherFileHint);
  return ExitCode::ok;
}

// Writes the stacks of a set. Text for standard output is written as it comes; a file, and the JSON
// document, when it is complete.
class SetWriter {
 public:
  SetWriter(const StacksArguments& arguments, report::stacks::SetHead head)
      : arguments_(arguments),
        options_(text_options(arguments)),
        head_(std::move(head)),
        as_it_comes_(arguments.format == "text" &&
                     (arguments.path.empty() || arguments.path == "-")) {
    if (arguments_.format == "json") return;
    add_text(head_.text + "\n");
    for (const std::string& each : head_.warnings) add_text("warning: " + printable(each) + "\n");
  }

  void add(const report::stacks::Process& process) {
    if (arguments_.format == "json") {
      processes_.push_back(report::stacks::render_json(process));
    } else {
      add_text("\n" + report::stacks::render_text(process, options_));
    }
  }
  void add(const report::stacks::NotRead& process) {
    head_.not_read.push_back(process);
    if (arguments_.format == "text") add_text("\n" + report::stacks::render_text(process));
  }
  bool is_read() const { return is_read_; }  // otherwise the reader of standard output is gone

  void finish() {
    if (arguments_.format == "json") text_ = report::stacks::render_json(head_, processes_);
    if (!as_it_comes_) write_output(arguments_.path, text_, kOtherFileHint);
  }

 private:
  void add_text(const std::string& text) {
    if (as_it_comes_) {
      is_read_ = is_read_ && write_part(text);
    } else {
      text_ += text;
    }
  }

  const StacksArguments& arguments_;
  report::stacks::TextOptions options_;
  report::stacks::SetHead head_;
  bool as_it_comes_;
  bool is_read_ = true;
  std::vector<std::string> processes_;  // documents
  std::string text_;
};

// Why a process of a set has no stacks.
struct Failure {
  report::stacks::NotRead process;
  std::string hint;
};

// Adds the stacks of a process. Returns why there are none, if there are none.
std::optional<Failure> add_process_of_set(Pid pid, const std::string& place, StackTaker& taker,
                                          SetWriter& writer) {
  Failure failure;
  failure.process.pid = pid;
  failure.process.name = tracee::process_name(pid);
  try {
    const report::stacks::Process process = taker.take(pid, place);
    taker.clear_status();
    writer.add(process);
    return std::nullopt;
  } catch (const Error& error) {
    failure.process.ended = error.code() == ExitCode::target_gone;
    failure.process.reason = error.what();
    failure.hint = error.hint();
  }
  taker.clear_status();
  writer.add(failure.process);
  return failure;
}

// Throws Error for a set without any stack.
[[noreturn]] void refuse_all(const std::string& text, const std::vector<Failure>& failures) {
  const auto refused = std::find_if(failures.begin(), failures.end(),
                                    [](const Failure& each) { return !each.process.ended; });
  if (refused == failures.end()) {
    throw TargetGone(fmt::format("{}: all have ended", text),
                     "see `ps -e` for those that run, and name these");
  }
  throw Error(fmt::format("{}: none could be read; {}", text, refused->process.reason),
              refused->hint);
}

ExitCode show_set(const SetChoice& choice, const StacksArguments& arguments) {
  const auto set = set_of(choice);
  const std::vector<Pid> pids = set->present();
  report::stacks::SetHead head;
  head.text = choice.text;
  if (auto text = set->text_of_left_out(); !text.empty()) {
    head.warnings.push_back(std::move(text));
  }
  StackTaker taker(arguments);
  SetWriter writer(arguments, std::move(head));
  std::vector<Failure> failures;
  for (std::size_t i = 0; i < pids.size() && writer.is_read(); ++i) {
    const auto place = fmt::format("process {} of {}: ", i + 1, pids.size());
    if (auto failure = add_process_of_set(pids[i], place, taker, writer)) {
      failures.push_back(std::move(*failure));
    }
  }
  if (writer.is_read() && failures.size() == pids.size()) refuse_all(choice.text, failures);
  writer.finish();
  return ExitCode::ok;
}

ExitCode run_stacks(const StacksArguments& arguments) {
  if (arguments.format != "text" && arguments.format != "json") {
    throw UsageError(fmt::format("--format: \"{}\" is not a format of stacks", arguments.format),
                     "use text or json");
  }
  check_output(arguments.path, kOtherFileHint);
  const SetChoice choice = choose_set(arguments.set);
  return choice.is_single ? show_one(choice.pids.front(), arguments) : show_set(choice, arguments);
}

}  // namespace

void add_stacks(CLI::App& app, Command& selected) {
  CLI::App& sub = add_subcommand(
      app, "stacks", "the stacks of all threads of processes at this moment",
      "Examples:\n"
      "  causalctl stacks 4711\n"
      "  causalctl stacks 4711 --each --verbose     every thread, and how long it was stopped\n"
      "  causalctl stacks --match 'postgres*'       those of all processes with such a name\n"
      "  causalctl stacks 4711 --format json -o stacks.json");
  auto arguments = std::make_shared<StacksArguments>();
  add_words(sub, "PID|NAME", arguments->set.processes, "", "the process or processes");
  add_set_options(sub, arguments->set, false);
  OptionGroup taking(sub, "Taking");
  taking.flag("--reference", arguments->reference,
              "stop every thread, and unwind it by libunwind-ptrace meanwhile: slow, to compare");
  taking.flag("--kernel", arguments->kernel,
              "show the functions of the kernel in which blocked threads wait (needs root)");
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
