// `causalctl record --db DIR` profiles processes, or the machine, all the time, for a small and
// known share of it, into a database (DCPI).
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "config/text.h"
#include "controller/base/duration.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/number.h"
#include "controller/commands/commands.h"
#include "controller/commands/launched.h"
#include "controller/commands/options.h"
#include "controller/commands/process_set_options.h"
#include "controller/commands/recorded_stacks.h"
#include "controller/commands/this_host.h"
#include "controller/continuous/collect/recorder.h"
#include "controller/continuous/record/database.h"
#include "controller/progress/naming.h"
#include "controller/session/process_set.h"
#include "controller/session/status_line.h"
#include "controller/session/watch.h"
#include "controller/tracee/adoption.h"

namespace causalctl::commands {
namespace {

constexpr double kMostBudget = 50;  // percent
constexpr Nanoseconds kMinute = 60 * kSecond;
constexpr std::uint32_t kMostDays = 36'500;
constexpr std::uint64_t kLeastBytes = 1'000'000;

struct RecordArguments {
  SetWords set;                      // its words may be the program
  std::vector<std::string> program;  // the words after --
  std::string folder, label;
  std::vector<std::string> points;
  std::string budget = "1", period = "auto", drain = "5s", merge = "10m", epoch_every = "1h",
              roll_up = "48h", keep = "7d", duration;
  std::string most_bytes = "1G";
  bool stacks = false, no_files = false, quiet = false, verbose = false;
};

double parse_budget(std::string text) {
  if (text.ends_with('%')) text.pop_back();
  const auto percent = parse_number<double>(text);
  if (percent && *percent > 0 && *percent <= kMostBudget) return *percent / 100;
  throw UsageError(fmt::format("--budget {}: not a share of a core", text),
                   fmt::format("a number of percent above 0 and up to {}", kMostBudget));
}

std::uint64_t parse_bytes(const std::string& text) {
  const std::size_t digits = text.find_first_not_of("0123456789");
  const auto number = parse_number<std::uint64_t>(text.substr(0, digits));
  const std::string unit = digits == std::string::npos ? "" : text.substr(digits);
  constexpr std::uint64_t kMost = 1ULL << 20U;
  const unsigned shift = unit == "G" ? 30 : unit == "M" ? 20 : unit == "K" ? 10 : 0;
  const bool is_unit = unit.empty() || shift > 0;
  if (!number || !is_unit || *number >= kMost << 20U) {
    throw UsageError(fmt::format("--max-size {}: not a size", text), "a number with K, M or G");
  }
  const std::uint64_t bytes = *number << shift;
  if (bytes == 0 || bytes >= kLeastBytes) return bytes;
  throw UsageError(fmt::format("--max-size {}: too little", text), "1M or more, or 0 for any size");
}

// Durations of days, which the settings of a profile do not need.
Nanoseconds parse_long(const std::string& text, const char* option) {
  if (text.ends_with('d')) {
    const auto days = parse_number<std::uint32_t>(text.substr(0, text.size() - 1));
    if (days && *days <= kMostDays) return Nanoseconds{*days} * 24 * 3600 * kSecond;
  }
  return config::parse_duration(text, option);
}

Nanoseconds not_too_often(const std::string& text, const char* option) {
  const Nanoseconds time_ns = parse_long(text, option);
  if (time_ns >= kSecond / 10) return time_ns;
  throw UsageError(fmt::format("{} {}: less than 0.1 s", option, text),
                   "it takes longer than that");
}

continuous::RecordOptions options_of(const RecordArguments& arguments) {
  continuous::RecordOptions options;
  options.budget = parse_budget(arguments.budget);
  if (arguments.period != "auto") {
    options.period_ns = config::parse_duration(arguments.period, "--period");
    if (options.period_ns < kMillisecond / 10) {
      throw UsageError("--period: less than 0.1 ms", "the kernel takes no more samples than that");
    }
    if (options.period_ns > kSecond) {
      throw UsageError("--period: more than 1 s", "a profile takes a thousand samples or more");
    }
  }
  options.drain_ns = not_too_often(arguments.drain, "--drain");
  options.merge_ns = not_too_often(arguments.merge, "--merge");
  options.epoch_ns = not_too_often(arguments.epoch_every, "--epoch-every");
  options.roll_up_ns = parse_long(arguments.roll_up, "--roll-up");
  options.keep_ns = parse_long(arguments.keep, "--keep");
  options.most_bytes = parse_bytes(arguments.most_bytes);
  options.label = arguments.label;
  options.points = arguments.points;
  options.files = !arguments.no_files;
  options.seed = std::random_device()();
  return options;
}

// A sample with its path costs some 150 µs, its unwinding included: a third of the budget.
Nanoseconds stacks_period(double budget) {
  constexpr double kCost = 150'000;
  return std::clamp<Nanoseconds>(static_cast<Nanoseconds>(3 * kCost / budget), 5 * kMillisecond,
                                 kSecond);
}

void tell(const continuous::RecordSummary& summary, const RecordArguments& arguments) {
  const auto percent = [](std::uint64_t part, std::uint64_t all) {
    return 100 * share_of(part, all);
  };
  log::note(
      "{} samples in {:.1f} s, one each {}; {:.2f} % in unknown code, {} lost; a sample costs "
      "{:.1f} "
      "µs here; causalctl took {:.2f} % of a core",
      summary.samples, static_cast<double>(summary.recorded_ns) / kSecond,
      duration(summary.period_ns), percent(summary.unknown, summary.samples), summary.lost,
      static_cast<double>(summary.sample_cost_ns) / kMicrosecond, 100 * summary.cpu_share);
  log::verbose("the kernel had {} records for them", summary.records);
  log::note("to read on: causalctl prof {}", progress::in_shell_quotes(arguments.folder));
}

ExitCode record_watched(session::Watch& watch, const SetChoice& choice, tracee::Guardian* guardian,
                        const RecordArguments& arguments) {
  continuous::RecordOptions options = options_of(arguments);
  options.all = choice.description.kind == session::SetKind::all;
  if (choice.is_single) options.process = choice.pids.front();
  auto database = continuous::Database::record(arguments.folder, this_host());
  const std::optional<Nanoseconds> duration_ns =
      arguments.duration.empty()
          ? std::nullopt
          : std::optional(config::parse_duration(arguments.duration, "--duration"));
  watch.begin_work();
  session::StatusLine status(arguments.quiet);
  continuous::RecordHooks hooks;
  std::optional<Nanoseconds> begin_ns;  // of the recording, once all is set up
  hooks.is_over = [&] {
    if (!begin_ns) begin_ns = monotonic_now();
    if (guardian != nullptr && guardian->is_suspended()) guardian->release();
    return session::Watch::interrupts() > 0 ||
           (duration_ns && monotonic_now() - *begin_ns >= *duration_ns);
  };
  hooks.show = [&](const std::string& how_far) {
    if (status.due()) status.show(fmt::format("recording {}: {}", choice.text, how_far));
  };
  std::optional<RecordedStacks> stacks;
  if (arguments.stacks) {
    stacks.emplace(choice, stacks_period(options.budget), options.epoch_ns + kMinute,
                   database.file() + ".paths");
    hooks.paths = &*stacks;
  }
  const continuous::RecordSummary summary = continuous::record(watch, database, options, hooks);
  status.clear();
  watch.end_work();
  if (!arguments.quiet) tell(summary, arguments);
  if (summary.unwritten == 0) return ExitCode::ok;
  throw Error(
      fmt::format("{}: {} samples could not be written", database.file(), summary.unwritten),
      "the first message tells why");
}

ExitCode run(RecordArguments& arguments) {
  set_log_level({Color::automatic, arguments.quiet, arguments.verbose});
  if (arguments.folder.empty()) {
    throw UsageError("no database to record into", "--db DIR names a folder, which is made");
  }
  (void)options_of(arguments);
  if (arguments.program.empty()) {
    if (ways_of(arguments.set).empty()) arguments.set.all = true;
    const SetChoice choice = choose_set(arguments.set);
    if (choice.is_single) (void)tracee::check_program(choice.pids.front(), getpid());
    session::Watch watch(set_of(choice), 0);
    return record_watched(watch, choice, nullptr, arguments);
  }
  config::Target target;
  target.command = arguments.program;
  return with_program(target, false, [&](Pid pid, tracee::Guardian& guardian) {
    const SetChoice choice = choose_program_with_children(arguments.program, pid);
    session::Watch watch(set_of(choice), pid);
    return record_watched(watch, choice, &guardian, arguments);
  });
}

}  // namespace

void add_record(CLI::App& app, Command& selected, std::vector<std::string> program) {
  CLI::App& sub = add_subcommand(
      app, "record", "profile processes or the machine all the time, into a database",
      "Without a set of processes it records the machine. Ctrl-C ends it.\n\n"
      "Examples:\n"
      "  causalctl record --db /var/lib/causalctl\n"
      "  causalctl record --db profiles --service nginx --budget 3\n"
      "  causalctl record --db profiles -- make -j2\n"
      "  causalctl prof profiles");
  auto arguments = std::make_shared<RecordArguments>();
  arguments->program = std::move(program);
  add_words(sub, "PID|NAME|CMD", arguments->set.processes, "",
            "the process or processes, or after -- a program and its arguments");
  add_set_options(sub, arguments->set, true);
  OptionGroup what(sub, "Recording");
  what.value("--db", arguments->folder, "DIR", "the folder of the database, which is made");
  what.value("--budget", arguments->budget, "PERCENT",
             "share of a busy core that samples may take [1]");
  what.value(
      "--period", arguments->period, "TIME",
      "CPU time from one sample of a core to the next; auto: as the budget lets it be [auto]");
  what.value("--label", arguments->label, "NAME", "a name for what is recorded now");
  what.list(
      "--progress", arguments->points, "SPEC",
      "count a progress point, so that prof, stats and diff can tell costs per visit (--per): "
      "code or a USDT probe of one process, or syscall:NAME; may be repeated");
  what.flag("--stacks", arguments->stacks,
            "record call paths, too, at a lower rate (prof --stacks shows them)");
  what.value("--duration", arguments->duration, "TIME", "end after this time");
  OptionGroup keeping(sub, "Database");
  keeping.value("--drain", arguments->drain, "TIME", "write this often what was counted [5s]");
  keeping.value("--merge", arguments->merge, "TIME", "merge what was written this often [10m]");
  keeping.value("--epoch-every", arguments->epoch_every, "TIME", "begin an epoch this often [1h]");
  keeping.value("--roll-up", arguments->roll_up, "TIME",
                "join epochs without names that are older, by day; 0: never [48h]");
  keeping.value("--keep", arguments->keep, "TIME", "remove epochs that are older [7d]");
  keeping.value("--max-size", arguments->most_bytes, "SIZE",
                "remove the oldest epochs of a larger file [1G]");
  keeping.flag("--no-files", arguments->no_files,
               "do not keep code and symbols of the files in which time is spent");
  OptionGroup output(sub, "Output");
  output.flag("--quiet", arguments->quiet, "no status line and no summary");
  output.flag("--verbose", arguments->verbose, "say more");
  on_watching(sub, selected, [arguments] { return run(*arguments); });
}

}  // namespace causalctl::commands
