#include "controller/commands/report.h"

#include <unistd.h>

#include <memory>

#include "config/load.h"
#include "controller/base/log.h"
#include "controller/causal/coz_format.h"
#include "controller/causal/estimate.h"
#include "controller/causal/log.h"
#include "controller/commands/commands.h"
#include "controller/commands/options.h"
#include "controller/report/render.h"

namespace causalctl::commands {
namespace {

struct ReportArguments {
  std::vector<std::string> logs;
  ReportOptions options;
};

ExitCode report(const ReportArguments& arguments) {
  config::check_format(arguments.options.format, "--format");
  const causal::ReadLog log = causal::read_logs(arguments.logs);
  if (log.runs.empty()) {
    throw Error("no run in the experiment logs", "they are empty; profile first: causalctl attach");
  }
  write_report(log.runs, log.warnings, arguments.options);
  return ExitCode::ok;
}

constexpr const char* kHint = "the experiment log still has everything: causalctl report LOG";

}  // namespace

void write_report(const std::vector<causal::Run>& runs, const std::vector<std::string>& warnings,
                  const ReportOptions& options) {
  if (options.format == "coz") {
    for (const std::string& warning : warnings) log::note("{}", warning);  // no place in the format
    write_output(options.path, causal::coz_profile(runs), kHint);
    return;
  }
  report::Report report = causal::estimate(runs);
  report.warnings.insert(report.warnings.end(), warnings.begin(), warnings.end());
  if (options.format == "json") {
    write_output(options.path, report::render_json(report), kHint);
    return;
  }
  const bool to_terminal = options.path.empty() || options.path == "-";
  const bool color =
      to_terminal ? use_color(options.color, STDOUT_FILENO) : options.color == Color::always;
  const int no_terminal = -1;
  write_output(
      options.path,
      report::render_text(report, color, terminal_width(to_terminal ? STDOUT_FILENO : no_terminal)),
      kHint);
}

void add_report(CLI::App& app, Command& selected) {
  CLI::App& sub = add_subcommand(
      app, "report", "combine experiment logs of any number of runs and hosts, and render them",
      "Examples:\n"
      "  causalctl report profile.jsonl\n"
      "  causalctl report host1.jsonl host2.jsonl --format json -o report.json\n"
      "  causalctl report profile.jsonl --format coz -o profile.coz     for Coz's own viewer");
  auto arguments = std::make_shared<ReportArguments>();
  add_words(sub, "LOG", arguments->logs, "FILE", "experiment logs, as written by attach and run",
            true);
  OptionGroup output(sub, "Output");
  output.value("--format", arguments->options.format, "text|json|coz", "what to write [text]");
  output.value("-o,--output", arguments->options.path, "OUT",
               "where to [standard output]; created readable by its owner only");
  output.color(arguments->options.color);
  on_selected(sub, selected, [arguments] { return report(*arguments); });
}

}  // namespace causalctl::commands
