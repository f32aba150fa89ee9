// `causalctl prof DIR` shows where the time went that `causalctl record` has recorded.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/commands/commands.h"
#include "controller/commands/output.h"
#include "controller/continuous/analysis/epoch_choice.h"
#include "controller/continuous/analysis/file_names.h"
#include "controller/continuous/analysis/rows.h"
#include "controller/continuous/record/database.h"
#include "controller/report/continuous/model.h"

namespace causalctl::commands {
namespace {

namespace shown = report::continuous;

constexpr std::uint64_t kUsualRows = 30;
constexpr double kManyUnknown = 0.01;

struct ProfArguments {
  std::string folder;
  std::string by = "function";
  std::string epoch = "last";
  std::string format = "text";
  std::string path;
  std::optional<std::uint64_t> limit;
  Color color = Color::automatic;
};

continuous::By rows_by(const std::string& text) {
  if (text == "function") return continuous::By::function;
  if (text == "image") return continuous::By::image;
  if (text == "label") return continuous::By::label;
  throw UsageError(fmt::format("--by {}: no such choice", text), "function, image or label");
}

std::vector<std::string> warnings_of(const continuous::Losses& losses, std::uint64_t samples) {
  std::vector<std::string> warnings;
  const auto count = [&losses](const char* kind) {
    const auto found = losses.find(kind);
    return found == losses.end() ? std::uint64_t{0} : found->second;
  };
  const std::uint64_t unknown = count("unknown");
  if (static_cast<double>(unknown) > kManyUnknown * static_cast<double>(samples + unknown)) {
    warnings.push_back(fmt::format(
        "{} samples are in code of which nothing is known, and are not shown", unknown));
  }
  if (const auto lost = count("unplaced") + count("not written"); lost > 0) {
    warnings.push_back(fmt::format("{} samples were lost for want of room", lost));
  }
  return warnings;
}

shown::ProfileTable table_of(const continuous::Database& database, const ProfArguments& arguments) {
  const std::vector<continuous::Epoch> epochs = database.epochs();
  const auto chosen = continuous::choose_epochs(epochs, arguments.epoch, realtime_now());
  shown::ProfileTable table;
  table.host = database.host().name;
  table.event = "cpu";
  table.by = arguments.by;
  continuous::Losses losses;
  for (const continuous::Epoch& epoch : epochs) {
    if (std::find(chosen.begin(), chosen.end(), epoch.id) == chosen.end()) continue;
    table.epochs.push_back({epoch.id, epoch.name, continuous::time_text(epoch.begin_ns),
                            continuous::time_text(epoch.end_ns), epoch.recorded_ns});
    for (const auto& [kind, count] : epoch.losses) losses[kind] += count;
  }
  continuous::FileNames names(
      [&](const continuous::Image& image) { return database.names(image); });
  const continuous::Rows rows = continuous::rows_of(
      database.profile(chosen), table.event, rows_by(arguments.by),
      [&names](const auto& image, Address offset) { return names.at(image, offset); });
  table.samples = rows.all.samples;
  table.time_ns = rows.all.time_ns;
  for (const continuous::Row& row : rows.rows) {
    table.rows.push_back({row.name, row.image, row.count.samples, row.count.time_ns, row.share});
  }
  table.warnings = warnings_of(losses, rows.all.samples);
  return table;
}

ExitCode run(const ProfArguments& arguments) {
  if (arguments.format != "text" && arguments.format != "json") {
    throw UsageError(fmt::format("--format {}: no such format", arguments.format), "text or json");
  }
  (void)rows_by(arguments.by);
  std::string text;
  for (const std::string& file : continuous::Database::files_in(arguments.folder)) {
    const auto database = continuous::Database::read(file);
    const shown::ProfileTable table = table_of(database, arguments);
    if (arguments.format == "json") {
      text += shown::render_json(table);
      continue;
    }
    shown::TextOptions options;
    options.color = use_color(arguments.color, STDOUT_FILENO);
    options.width = terminal_width(STDOUT_FILENO);
    options.most_rows = arguments.limit.value_or(kUsualRows);
    if (!text.empty()) text += "\n";
    text += shown::render_text(table, options);
  }
  write_output(arguments.path, text);
  return ExitCode::ok;
}

}  // namespace

void add_prof(CLI::App& app, Command& selected) {
  CLI::App& sub = add_subcommand(app, "prof", "where the recorded time went",
                                 "Examples:\n"
                                 "  causalctl prof profiles\n"
                                 "  causalctl prof profiles --epoch today --by image\n"
                                 "  causalctl prof profiles --epoch 2026-11-25T10:00..11:00");
  auto arguments = std::make_shared<ProfArguments>();
  add_word(sub, "DIR", arguments->folder, "",
           "the folder that `causalctl record --db` writes, or one host's file in it");
  OptionGroup choice(sub, "What is shown");
  choice.value("--by", arguments->by, "BY", "rows by function, image or label [function]");
  choice.value("--epoch", arguments->epoch, "EPOCH",
               "last, all, today, a name, a number, or a span such as 2026-11-25T10:00..11:00 "
               "[last]");
  choice.value("--limit", arguments->limit, "N", "most rows of the text; 0: all [30]");
  OptionGroup output(sub, "Output");
  output.value("--format", arguments->format, "FORMAT", "text or json [text]");
  output.value("--output", arguments->path, "FILE", "write to a file [standard output]");
  output.color(arguments->color);
  on_selected(sub, selected, [arguments] { return run(*arguments); });
}

}  // namespace causalctl::commands
