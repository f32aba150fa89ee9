// `causalctl diff DIR --from A --to B` tells what changed between epochs of a continuous profile
// (dcpidiff of DCPI), with intervals, and with a correction for the number of functions.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "controller/base/error.h"
#include "controller/commands/callpath_report.h"
#include "controller/commands/commands.h"
#include "controller/commands/epochs_as_paths.h"

namespace causalctl::commands {
namespace {

struct DiffArguments {
  std::string folder, from, to, label;
  std::string by = "function";
  std::string per;  // "second", or a point; empty for shares
  ReportOptions output;
};

callpath::ReadLog paths_of(const std::vector<continuous::Database>& databases,
                           const std::string& epoch, const DiffArguments& arguments) {
  const bool is_point = !arguments.per.empty() && arguments.per != "second";
  const auto hosts = choose_hosts(databases, epoch);
  require_label(hosts, arguments.label);
  return as_paths(hosts, arguments.label, is_point ? arguments.per : "");
}

ExitCode compare(const DiffArguments& arguments) {
  if (arguments.from.empty() || arguments.to.empty()) {
    throw UsageError("diff compares two sides", "--from EPOCH and --to EPOCH name them");
  }
  CallpathView view;
  view.by = arguments.by;
  view.kernel = true;
  view.per = arguments.per;
  view.more_parts = "Compare five epochs or more on each side (record --epoch-every).";
  view.diff = {arguments.from};
  const std::string& format = arguments.output.format;
  check_callpath_format(format, arguments.output.path);
  if (format != "text") view.by.clear();
  check_callpath_view(view, format);
  const auto databases = open_databases(arguments.folder);
  write_callpath_difference(paths_of(databases, arguments.from, arguments),
                            paths_of(databases, arguments.to, arguments), arguments.output, view);
  return ExitCode::ok;
}

}  // namespace

void add_diff(CLI::App& app, Command& selected) {
  CLI::App& sub = add_subcommand(
      app, "diff", "what changed between epochs of a database of profiles",
      "Each epoch of a side is a part of its time: how much they differ says how certain a change\n"
      "is. Five or more on each side are needed for that (record --epoch-every).\n\n"
      "Examples:\n"
      "  causalctl diff profiles --from 'before the release' --to last\n"
      "  causalctl diff profiles --from 2026-11-24T10:00..12:00 --to 2026-11-25T10:00..12:00\n"
      "  causalctl diff profiles --from 1 --to 2 --format html -o difference.html");
  auto arguments = std::make_shared<DiffArguments>();
  add_word(sub, "DIR", arguments->folder, "",
           "the folder that `causalctl record --db` writes, or one host's file in it");
  OptionGroup choice(sub, "What is compared");
  choice.value("--from", arguments->from, "EPOCH",
               "the one side: last, all, today, a name, a number, or a span of time");
  choice.value("--to", arguments->to, "EPOCH", "the other side");
  choice.value("--label", arguments->label, "NAME", "only what was recorded with this label");
  choice.value("--per", arguments->per, "POINT",
               "CPU time per visit of a point that was counted (record --progress), or per second, "
               "in place of shares of all CPU time");
  choice.value("--by", arguments->by, "BY",
               "rows of the text by function, line or path [function]");
  OptionGroup output(sub, "Output");
  output.value("--format", arguments->output.format, "FORMAT", "text, json or html [text]");
  output.value("-o,--output", arguments->output.path, "FILE", "write to a file [standard output]");
  output.color(arguments->output.color);
  on_selected(sub, selected, [arguments] { return compare(*arguments); });
}

}  // namespace causalctl::commands
