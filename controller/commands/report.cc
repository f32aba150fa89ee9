#include "controller/commands/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "config/load.h"
#include "controller/base/error.h"
#include "controller/base/json_lines.h"
#include "controller/base/log.h"
#include "controller/base/number.h"
#include "controller/callpath/places/namer.h"
#include "controller/callpath/record/log.h"
#include "controller/causal/analysis/coz_format.h"
#include "controller/causal/analysis/estimate.h"
#include "controller/causal/record/log.h"
#include "controller/commands/callpath_report.h"
#include "controller/commands/commands.h"
#include "controller/commands/gains.h"
#include "controller/commands/inputs_report.h"
#include "controller/commands/options.h"
#include "controller/report/causal/finding_words.h"
#include "controller/report/causal/render.h"

namespace causalctl::commands {
namespace {

struct ReportArguments {
  std::vector<std::string> logs;
  std::string group;                                 // empty for all groups
  std::vector<std::string> through, under, without;  // CallpathView::filters has them in order
  CallpathView view;
  InputsView inputs;  // whose metric is that of `view`
  ReportOptions options;
};

// What a log is of.
enum class Kind { experiments, callpaths, inputs };

constexpr std::string CallpathView::*kPathOptions[] = {&CallpathView::by, &CallpathView::metric,
                                                       &CallpathView::epoch, &CallpathView::per,
                                                       &CallpathView::causal};
constexpr const char* kHint = "the experiment log still has everything: causalctl report LOG";

bool asks_for_paths(const CallpathView& view) {
  return view.wakers || !view.filters.empty() || !view.diff.empty() ||
         std::any_of(std::begin(kPathOptions), std::end(kPathOptions),
                     [&](auto option) { return !(view.*option).empty(); });
}

ExitCode report_causal(const ReportArguments& arguments, const std::vector<LogText>& logs) {
  config::check_format(arguments.options.format, "--format");
  if (asks_for_paths(arguments.view)) {
    throw UsageError(
        "--by, --metric, --wakers, --epoch, --through, --under, --not, --diff, --per and --causal "
        "are for logs of call paths",
        fmt::format("{} is an experiment log", logs.front().name));
  }
  causal::ReadLog log = causal::parse_logs(logs);
  if (log.runs.empty()) {
    throw Error(fmt::format("there is no run in {}", fmt::join(arguments.logs, ", ")),
                "profile first: causalctl attach, causalctl run");
  }
  std::vector<causal::RunGroup> groups = causal::group_runs(std::move(log.runs));
  if (!arguments.group.empty()) choose(groups, arguments.group);
  const std::vector<Warning> remarks = causal::remarks_on(groups);
  log.warnings.insert(log.warnings.begin(), remarks.begin(), remarks.end());
  write_report(groups, log.warnings, arguments.options);
  return ExitCode::ok;
}

Kind kind_of(const LogText& log) {
  if (begins_as(causal::kLogKind, log.text)) return Kind::experiments;
  if (begins_as(callpath::kLogKind, log.text)) return Kind::callpaths;
  return is_of_inputs(log) ? Kind::inputs : Kind::experiments;
}

void need_runs(const callpath::ReadLog& log, const std::string& name) {
  if (log.runs.empty()) throw Error(fmt::format("there is no run in {}", name));
}

// Gives functions the names that their files tell, and leaves out what is not to be seen.
callpath::ReadLog prepared(callpath::ReadLog log, const ReportArguments& arguments) {
  for (callpath::Recording& recording : log.runs) callpath::name_from_files(recording);
  choose_kernel_part(log.runs, arguments.options.format, arguments.view);
  return log;
}

ExitCode report_difference(const ReportArguments& arguments, const std::vector<LogText>& logs) {
  const std::vector<LogText> old_logs =
      read_files(arguments.view.diff, "--diff takes a log, as written by causalctl callpath");
  for (const LogText& log : old_logs) {
    if (kind_of(log) == Kind::callpaths) continue;
    throw UsageError(fmt::format("--diff {}: it is no log of call paths", log.name),
                     "give a log that causalctl callpath wrote (--output)");
  }
  callpath::ReadLog before = callpath::parse_logs(old_logs, true);
  callpath::ReadLog after = callpath::parse_logs(logs, true);
  need_runs(before, old_logs.front().name);
  need_runs(after, logs.front().name);
  write_callpath_difference(prepared(std::move(before), arguments),
                            prepared(std::move(after), arguments), arguments.options,
                            arguments.view);
  return ExitCode::ok;
}

ExitCode report_callpath(const ReportArguments& arguments, const std::vector<LogText>& logs) {
  check_callpath_format(arguments.options.format, arguments.options.path);
  check_callpath_view(arguments.view, arguments.options.format);
  if (!arguments.group.empty() && arguments.view.causal.empty()) {
    throw UsageError("--group is for experiment logs",
                     fmt::format("{} is a log of call paths", logs.front().name));
  }
  if (!arguments.view.diff.empty()) return report_difference(arguments, logs);
  const callpath::ReadLog log = prepared(callpath::parse_logs(logs), arguments);
  need_runs(log, logs.front().name);
  if (!arguments.view.causal.empty()) {
    write_gains(log,
                read_files({arguments.view.causal}, "--causal takes a log of causalctl attach"),
                arguments.group, arguments.options, arguments.view);
    return ExitCode::ok;
  }
  write_callpath_report(log.runs, log.warnings, arguments.options, arguments.view);
  return ExitCode::ok;
}

ExitCode report_inputs(const ReportArguments& arguments, const std::vector<LogText>& logs) {
  CallpathView others = arguments.view;
  others.metric.clear();
  if (asks_for_paths(others) || others.kernel || !arguments.group.empty()) {
    throw UsageError(
        "--group, --by, --wakers, --kernel, --epoch, --through, --under, --not, --diff, --per and "
        "--causal are for other logs",
        fmt::format("{} is a log of input sizes", logs.front().name));
  }
  InputsView view = arguments.inputs;
  view.metric = arguments.view.metric;
  check_inputs_view(view, arguments.options);
  write_inputs_report(logs, view, arguments.options);
  return ExitCode::ok;
}

ExitCode report(const ReportArguments& arguments) {
  const std::vector<LogText> logs = read_files(
      arguments.logs, "name logs, as written by attach, run, callpath and inputs run (--output)");
  const Kind kind = kind_of(logs.front());
  for (const LogText& log : logs) {
    if (kind_of(log) == kind) continue;
    throw UsageError(
        fmt::format("{} and {} are logs of different kinds", logs.front().name, log.name),
        "report each kind on its own");
  }
  if (kind == Kind::inputs) return report_inputs(arguments, logs);
  if (!arguments.inputs.function.empty() || !arguments.inputs.cost.empty()) {
    throw UsageError("--function and --cost are for logs of input sizes",
                     fmt::format("{} is another log", logs.front().name));
  }
  return kind == Kind::callpaths ? report_callpath(arguments, logs)
                                 : report_causal(arguments, logs);
}

// Returns the filters in the order in which the command line has them.
std::vector<callpath::Filter> filters_of(const CLI::App& app) {
  using Kind = callpath::Filter::Kind;
  std::vector<callpath::Filter> filters;
  for (auto& [option, function] : in_order(app, {"--through", "--under", "--not"})) {
    const Kind kind = option == "--through" ? Kind::through
                      : option == "--under" ? Kind::under
                                            : Kind::without;
    filters.push_back({kind, std::move(function)});
  }
  return filters;
}

std::string text_of(const std::vector<causal::RunGroup>& groups,
                    const std::vector<Warning>& warnings, bool color, int width) {
  if (groups.size() == 1) {
    report::Report report = causal::estimate(groups.front().runs);
    report.warnings.insert(report.warnings.end(), warnings.begin(), warnings.end());
    return report::render_text(report, color, width);
  }
  std::string text = report::render_warnings(warnings, color);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    text += report::render_heading(i + 1, groups.size(), groups[i].name, color);
    text += report::render_text(causal::estimate(groups[i].runs), color, width);
  }
  return text;
}

}  // namespace

void choose(std::vector<causal::RunGroup>& groups, const std::string& wanted) {
  const auto number = parse_number<std::size_t>(wanted, 10);
  if (!number || *number < 1 || *number > groups.size()) {
    throw UsageError(fmt::format("--group {}: the logs have no such group", wanted),
                     "they have:" + causal::list_of(groups));
  }
  groups = {std::move(groups[*number - 1])};
}

TextLook text_look(const ReportOptions& options) {
  const bool to_stdout = options.path.empty() || options.path == "-";
  const int no_terminal = -1;
  return {to_stdout ? use_color(options.color, STDOUT_FILENO) : options.color == Color::always,
          terminal_width(to_stdout ? STDOUT_FILENO : no_terminal)};
}

void write_report(const std::vector<causal::RunGroup>& groups, const std::vector<Warning>& warnings,
                  const ReportOptions& options) {
  if (options.format != "text" && groups.size() > 1) {
    throw UsageError(
        fmt::format("the logs have {} groups of runs, which cannot be averaged; {} holds one:{}",
                    groups.size(), options.format, causal::list_of(groups)),
        "choose one with --group N, or name the logs of one group only");
  }
  if (options.format == "coz") {
    for (const Warning& warning : warnings)
      log::note("{}", warning.text());  // since the format has no place for it
    log::note("{}", report::statement_of(causal::estimate(groups.front().runs)));
    write_output(options.path, causal::coz_profile(groups.front().runs), kHint);
    return;
  }
  if (options.format == "json") {
    report::Report report = causal::estimate(groups.front().runs);
    report.warnings.insert(report.warnings.end(), warnings.begin(), warnings.end());
    write_output(options.path, report::render_json(report), kHint);
    return;
  }
  const TextLook look = text_look(options);
  write_output(options.path, text_of(groups, warnings, look.color, look.width), kHint);
}

void add_report(CLI::App& app, Command& selected) {
  CLI::App& sub = add_subcommand(
      app, "report", "combine logs of any number of runs and hosts, and render them",
      "Examples:\n"
      "  causalctl report profile.jsonl\n"
      "  causalctl report host1.jsonl host2.jsonl --format json -o report.json\n"
      "  causalctl report a.jsonl b.jsonl --group 2 --format json    of several programs, the "
      "second\n"
      "  causalctl report profile.jsonl --format coz -o profile.coz     for Coz's own viewer\n"
      "  causalctl report callpath.jsonl --under parse --by function    of call paths, those below "
      "parse\n"
      "  causalctl report new.jsonl --diff old.jsonl --per second       what changed\n"
      "  causalctl report callpath.jsonl --format pprof -o callpath.pb.gz\n"
      "  causalctl report inputs.jsonl --function sort_rows             of input sizes, one "
      "routine");
  auto arguments = std::make_shared<ReportArguments>();
  add_words(sub, "LOG", arguments->logs, "FILE",
            "logs, as written by attach, run, callpath and inputs run; all of one kind", true);
  OptionGroup output(sub, "Output");
  output.value(
      "--group", arguments->group, "N",
      "the N-th group of runs that may be averaged (of one program, build, scope and kind of unit) "
      "[all]");
  output.value(
      "--format", arguments->options.format, "FORMAT",
      fmt::format("of experiments text|json|coz, of input sizes {}; of call paths {} [text]",
                  kInputsFormats, kCallpathFormats));
  output.value("-o,--output", arguments->options.path, "OUT",
               "where the report goes [standard output]; a file is readable only by its owner");
  output.color(arguments->options.color);
  OptionGroup paths(sub, "Call paths");
  paths.value("--by", arguments->view.by, "function|line|path|calls|process",
              "a table by function or source line, the whole tree, or of several processes each by "
              "itself [an overview, by program]");
  paths.value("--metric", arguments->view.metric, "COLUMN",
              "rank the paths by this column: cpu, blocked, an event … [each that was asked for]; "
              "of input sizes trms|rms [trms]");
  paths.flag("--wakers", arguments->view.wakers,
             "who ended the time in which threads were blocked, below each path that waited");
  paths.flag("--kernel", arguments->view.kernel,
             "the functions of the kernel below the code that called it, as [k] tcp_sendmsg; "
             "otherwise their time is that code's");
  paths.list("--through", arguments->through, "FUNCTION", "keep paths with this function");
  paths.list("--under", arguments->under, "FUNCTION",
             "keep paths with this function, and cut off what is above it");
  paths.list("--not", arguments->without, "FUNCTION",
             "drop paths with this function; these three may be repeated, and nest in order");
  paths.value("--epoch", arguments->view.epoch, "N|N-M|REASON",
              "only these epochs: by number, or by a part of the reason [all]");
  paths.list("--diff", arguments->view.diff, "OLD",
             "what changed since this recording, with 95 % intervals; may be repeated");
  paths.value("--per", arguments->view.per, "second|COLUMN",
              "compare values per second, or per call of --event uprobe:F [shares]");
  paths.value("--causal", arguments->view.causal, "PROFILE",
              "rank paths by what the program would gain there, from an experiment log");
  OptionGroup inputs(sub, "Input sizes");
  inputs.value("--function", arguments->inputs.function, "FUNCTION",
               "one routine in full, with plots [all, ranked]");
  inputs.value("--cost", arguments->inputs.cost, "blocks|instructions",
               "the cost that is fitted and ranked by [blocks]");
  on_selected(sub, selected, [arguments, &sub] {
    arguments->view.filters = filters_of(sub);
    return report(*arguments);
  });
}

}  // namespace causalctl::commands
