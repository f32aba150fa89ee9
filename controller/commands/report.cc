#include "controller/commands/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "config/load.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/number.h"
#include "controller/causal/analysis/coz_format.h"
#include "controller/causal/analysis/estimate.h"
#include "controller/causal/record/log.h"
#include "controller/commands/commands.h"
#include "controller/commands/options.h"
#include "controller/report/causal/render.h"

namespace causalctl::commands {
namespace {

struct ReportArguments {
  std::vector<std::string> logs;
  std::string group;  // empty for all groups
  ReportOptions options;
};

constexpr const char* kHint = "the experiment log still has everything: causalctl report LOG";

// Keeps only the group that the user chose.
void choose(std::vector<causal::RunGroup>& groups, const std::string& wanted) {
  const auto number = parse_number<std::size_t>(wanted, 10);
  if (!number || *number < 1 || *number > groups.size()) {
    throw UsageError(fmt::format("--group {}: the logs have no such group", wanted),
                     "they have:" + causal::list_of(groups));
  }
  groups = {std::move(groups[*number - 1])};
}

ExitCode report(const ReportArguments& arguments) {
  config::check_format(arguments.options.format, "--format");
  causal::ReadLog log = causal::read_logs(arguments.logs);
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
    write_output(options.path, causal::coz_profile(groups.front().runs), kHint);
    return;
  }
  if (options.format == "json") {
    report::Report report = causal::estimate(groups.front().runs);
    report.warnings.insert(report.warnings.end(), warnings.begin(), warnings.end());
    write_output(options.path, report::render_json(report), kHint);
    return;
  }
  const bool to_terminal = options.path.empty() || options.path == "-";
  const bool color =
      to_terminal ? use_color(options.color, STDOUT_FILENO) : options.color == Color::always;
  const int no_terminal = -1;
  const int width = terminal_width(to_terminal ? STDOUT_FILENO : no_terminal);
  write_output(options.path, text_of(groups, warnings, color, width), kHint);
}

void add_report(CLI::App& app, Command& selected) {
  CLI::App& sub = add_subcommand(
      app, "report", "combine experiment logs of any number of runs and hosts, and render them",
      "Examples:\n"
      "  causalctl report profile.jsonl\n"
      "  causalctl report host1.jsonl host2.jsonl --format json -o report.json\n"
      "  causalctl report profile.jsonl --group 2 --format json    of several programs, the "
      "second\n"
      "  causalctl report profile.jsonl --format coz -o profile.coz     for Coz's own viewer");
  auto arguments = std::make_shared<ReportArguments>();
  add_words(sub, "LOG", arguments->logs, "FILE", "experiment logs, as written by attach and run",
            true);
  OptionGroup output(sub, "Output");
  output.value(
      "--group", arguments->group, "N",
      "the N-th group of runs that may be averaged (of one program, build, scope and kind of unit) "
      "[all]");
  output.value("--format", arguments->options.format, "text|json|coz", "format to write [text]");
  output.value("-o,--output", arguments->options.path, "OUT",
               "where the report goes [standard output]; a file is readable only by its owner");
  output.color(arguments->options.color);
  on_selected(sub, selected, [arguments] { return report(*arguments); });
}

}  // namespace causalctl::commands
