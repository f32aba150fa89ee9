// `causalctl prof DIR` shows where the time went that `causalctl record` has recorded.
#include <fmt/format.h>

#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/error.h"
#include "controller/callpath/places/namer.h"
#include "controller/commands/callpath_report.h"
#include "controller/commands/commands.h"
#include "controller/commands/db_export.h"
#include "controller/commands/epochs_as_paths.h"
#include "controller/commands/output.h"
#include "controller/continuous/analysis/epoch_choice.h"
#include "controller/continuous/analysis/file_names.h"
#include "controller/continuous/analysis/rows.h"
#include "controller/continuous/record/database.h"
#include "controller/report/continuous/model.h"

namespace causalctl::commands {
namespace {

namespace shown = report::continuous;

struct ProfArguments {
  std::string folder;
  std::string by = "function";
  std::string epoch = "last";
  std::string label;
  std::string per;
  bool stacks = false;
  std::string format = "text";
  std::string path;
  std::optional<std::uint64_t> limit;
  Color color = Color::automatic;
};

continuous::By rows_by(const std::string& text) {
  if (text == "function") return continuous::By::function;
  if (text == "line") return continuous::By::line;
  if (text == "image") return continuous::By::image;
  if (text == "label") return continuous::By::label;
  throw UsageError(fmt::format("--by {}: no such choice", text), "function, line, image or label");
}

shown::ProfileTable table_of(const ChosenHost& host, const ProfArguments& arguments) {
  shown::ProfileTable table;
  table.host = host.database.host().name;
  table.event = "cpu";
  table.by = arguments.by;
  table.epochs = heads_of(host.epochs);
  const EpochContents recorded = recorded_in(host, arguments.label);
  continuous::FileNames names(host.database);
  const continuous::Rows rows = continuous::rows_of(
      recorded.profile, table.event, rows_by(arguments.by), [&](const auto& image, Address offset) {
        return arguments.by == "line" ? names.line_at(image, offset) : names.at(image, offset);
      });
  table.samples = rows.all.samples;
  table.time_ns = rows.all.time_ns;
  for (const continuous::Row& row : rows.rows) {
    table.rows.push_back({row.name, row.image, row.count.samples, row.count.time_ns, row.share});
  }
  if (!arguments.per.empty()) {
    table.per = arguments.per;
    table.visits = visits_of(host.epochs, arguments.per);
  }
  table.warnings = warnings_of(recorded.losses, rows.all.samples);
  if (auto text = continuous::about_interrupts(rows); !text.empty()) {
    table.warnings.push_back(std::move(text));
  }
  table.warnings.insert(table.warnings.end(), recorded.damage.begin(), recorded.damage.end());
  return table;
}

std::string tables_of(const std::vector<ChosenHost>& hosts, const ProfArguments& arguments) {
  const TextLook look = text_look({arguments.format, arguments.path, arguments.color});
  const shown::TextOptions options{look.color, look.width,
                                   arguments.limit.value_or(shown::kUsualRows)};
  std::string text;
  for (const ChosenHost& host : hosts) {
    const shown::ProfileTable table = table_of(host, arguments);
    if (arguments.format == "json") {
      text += text.empty() ? "" : ",\n";
      text += shown::render_json(table);
      continue;
    }
    if (!text.empty()) text += "\n";
    text += shown::render_text(table, options);
  }
  if (arguments.format == "json" && hosts.size() > 1) return "[\n" + text + "]\n";
  return text;
}

// Adds the call paths of the epochs. What cannot be read is a warning.
void add_paths(const ChosenHost& host, callpath::ReadLog& log) {
  for (const continuous::Epoch& epoch : host.epochs) {
    const std::string name = fmt::format("{}, epoch {}", host.database.file(), epoch.id);
    try {
      const std::string text = host.database.paths(epoch.id);
      if (text.empty()) continue;
      callpath::ReadLog of_epoch = callpath::parse_logs({{name, text}});
      std::move(of_epoch.runs.begin(), of_epoch.runs.end(), std::back_inserter(log.runs));
      log.warnings.insert(log.warnings.end(), of_epoch.warnings.begin(), of_epoch.warnings.end());
    } catch (const Error& error) {
      log.warnings.emplace_back(fmt::format("{}: {}", name, error.what()));
    }
  }
}

// The last epoch may not be over, and then has none yet.
void leave_last_with_paths(ChosenHost& host) {
  while (!host.epochs.empty() && host.database.paths(host.epochs.back().id).empty()) {
    host.epochs.pop_back();
  }
  if (host.epochs.size() > 1) host.epochs.erase(host.epochs.begin(), host.epochs.end() - 1);
}

// The report of call paths, of what `record --stacks` has recorded.
ExitCode show_stacks(const ProfArguments& arguments) {
  if (!arguments.label.empty() || !arguments.per.empty() || arguments.limit) {
    throw UsageError("--stacks: --label, --per and --limit are for profiles without call paths",
                     "leave them out");
  }
  CallpathView view;
  if (arguments.by != "function") view.by = arguments.by;
  check_callpath_view(view, arguments.format);
  const auto databases = open_databases(arguments.folder);
  const bool is_last = arguments.epoch == "last";
  callpath::ReadLog log;
  for (ChosenHost& host : choose_hosts(databases, is_last ? "all" : arguments.epoch)) {
    if (is_last) leave_last_with_paths(host);
    add_paths(host, log);
  }
  if (log.runs.empty()) {
    throw Error("no call paths are stored in these epochs",
                "causalctl record --stacks records them; those of an epoch are stored when it ends "
                "(db DIR epoch)");
  }
  for (callpath::Recording& run : log.runs) callpath::name_from_files(run);
  choose_kernel_part(log.runs, arguments.format, view);
  write_callpath_report(log.runs, log.warnings, {arguments.format, arguments.path, arguments.color},
                        view);
  return ExitCode::ok;
}

ExitCode run(const ProfArguments& arguments) {
  const bool is_table = arguments.format == "text" || arguments.format == "json";
  check_callpath_format(arguments.format, arguments.path);
  if (arguments.stacks) return show_stacks(arguments);
  (void)rows_by(arguments.by);
  if (!is_table && (arguments.by != "function" || !arguments.per.empty())) {
    throw UsageError("--by and --per are for text and JSON", "the other formats have all places");
  }
  const auto databases = open_databases(arguments.folder);
  const auto hosts = choose_hosts(databases, arguments.epoch);
  require_label(hosts, arguments.label);
  if (is_table) {
    write_output(arguments.path, tables_of(hosts, arguments));
    return ExitCode::ok;
  }
  export_epochs(hosts, {arguments.format, arguments.path, arguments.label});
  return ExitCode::ok;
}

}  // namespace

void add_prof(CLI::App& app, Command& selected) {
  CLI::App& sub = add_subcommand(app, "prof", "where the recorded time went",
                                 "Examples:\n"
                                 "  causalctl prof profiles\n"
                                 "  causalctl prof profiles --epoch today --by image\n"
                                 "  causalctl prof profiles --format html -o profile.html\n"
                                 "  causalctl prof profiles --epoch 2026-11-25T10:00..11:00");
  auto arguments = std::make_shared<ProfArguments>();
  add_word(sub, "DIR", arguments->folder, "", kDatabaseHelp);
  OptionGroup choice(sub, "What is shown");
  choice.value("--by", arguments->by, "BY", "rows by function, line, image or label [function]");
  choice.value("--epoch", arguments->epoch, "EPOCH", kEpochHelp);
  choice.value("--label", arguments->label, "NAME", kLabelHelp);
  choice.value("--per", arguments->per, "POINT",
               "show the time per visit of a point that was counted, too (record --progress)");
  choice.value("--limit", arguments->limit, "N", "most rows of the text; 0: all [30]");
  choice.flag("--stacks", arguments->stacks,
              "the call paths that record --stacks has recorded, as causalctl callpath shows them");
  OptionGroup output(sub, "Output");
  output.value("--format", arguments->format, "FORMAT", std::string(kCallpathFormats) + " [text]");
  output.value("-o,--output", arguments->path, "FILE", "write to a file [standard output]");
  output.color(arguments->color);
  on_selected(sub, selected, [arguments] { return run(*arguments); });
}

}  // namespace causalctl::commands
