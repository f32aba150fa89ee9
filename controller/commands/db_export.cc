#include "controller/commands/db_export.h"

#include <fmt/format.h>

#include <functional>

#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/printable.h"
#include "controller/commands/callpath_report.h"
#include "controller/commands/output.h"
#include "controller/continuous/analysis/epoch_choice.h"
#include "controller/continuous/analysis/file_names.h"
#include "controller/continuous/analysis/rows.h"
#include "controller/report/continuous/model.h"

namespace causalctl::commands {
namespace {

using Write = std::function<bool(const std::string& lines)>;  // returns whether to go on

// A line for each function of each image and label in each epoch, epoch by epoch.
bool write_lines(const ChosenHost& host, const std::string& label, const Write& write) {
  continuous::FileNames names(host.database);
  report::continuous::ExportedRow row;
  row.host = host.database.host().name;
  std::vector<std::string> damage;
  for (const continuous::Epoch& epoch : host.epochs) {
    row.epoch = {epoch.id, epoch.name, continuous::utc_text(epoch.begin_ns),
                 continuous::utc_text(epoch.end_ns), epoch.recorded_ns};
    std::string lines;
    const auto profile = continuous::with_label(host.database.profile({epoch.id}, damage), label);
    for (const auto& [key, counts] : profile) {
      row.event = key.event;
      row.label = key.label;
      row.image = key.image.path;
      row.build_id = key.image.build_id;
      const continuous::Rows rows = continuous::rows_of(
          {{key, counts}}, key.event, continuous::By::function,
          [&names](const auto& image, Address offset) { return names.at(image, offset); });
      for (const continuous::Row& each : rows.rows) {
        row.function = each.name;
        row.samples = each.count.samples;
        row.time_ns = each.count.time_ns;
        lines += report::continuous::render_line(row);
      }
    }
    if (!write(lines)) return false;
  }
  for (const std::string& text : damage)
    log::note("{}: {}", printable(host.database.file()), printable(text));
  return true;
}

void export_lines(const std::vector<ChosenHost>& hosts, const ExportOptions& options) {
  const bool to_standard_output = options.path.empty() || options.path == "-";
  std::string all;
  const Write write = [&](const std::string& lines) {
    if (to_standard_output) return write_part(lines);
    all += lines;
    return true;
  };
  for (const ChosenHost& host : hosts) {
    if (!write_lines(host, options.label, write)) return;
  }
  if (!to_standard_output) write_output(options.path, all);
}

}  // namespace

void check_export(const ExportOptions& options) {
  if (options.format == "json") return;
  if (options.format == "text") {
    throw UsageError("export --format text: prof shows text", "causalctl prof DIR");
  }
  check_callpath_format(options.format, options.path);
}

void export_epochs(const std::vector<ChosenHost>& hosts, const ExportOptions& options) {
  require_label(hosts, options.label);
  if (options.format == "json") return export_lines(hosts, options);
  const callpath::ReadLog log = as_paths(hosts, options.label);
  CallpathView view;
  view.kernel = true;
  write_callpath_report(log.runs, log.warnings, {options.format, options.path}, view);
}

}  // namespace causalctl::commands
