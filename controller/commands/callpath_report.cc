#include "controller/commands/callpath_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/printable.h"
#include "controller/base/printable_list.h"
#include "controller/callpath/analysis/group_rows.h"
#include "controller/callpath/analysis/present.h"
#include "controller/callpath/analysis/present_sides.h"
#include "controller/callpath/record/folded_kernel.h"
#include "controller/commands/gains.h"
#include "controller/report/callpath/difference.h"
#include "controller/report/callpath/json_text.h"
#include "controller/report/callpath/labels.h"
#include "controller/report/callpath/render.h"
#include "controller/report/callpath/time_summary.h"

namespace causalctl::commands {
namespace {

namespace model = report::callpath;

struct Format {
  const char* name;
  std::string (*render)(const model::Profile&);
};
constexpr Format kFormats[] = {
    {"json", model::render_json},       {"folded", model::render_folded},
    {"pprof", model::render_pprof},     {"speedscope", model::render_speedscope},
    {"firefox", model::render_firefox}, {"callgrind", model::render_callgrind},
    {"hatchet", model::render_hatchet}, {"html", model::render_html},
};

// It changes the model, and so is for all formats.
constexpr std::string_view kByProcess = "process";

const Format* format_named(const std::string& name) {
  const auto* found = std::find_if(std::begin(kFormats), std::end(kFormats),
                                   [&](const Format& each) { return name == each.name; });
  return found == std::end(kFormats) ? nullptr : found;
}

model::By by_of(const std::string& name) {
  if (name == "function") return model::By::function;
  if (name == "line") return model::By::line;
  if (name == "path") return model::By::path;
  if (name == "calls") return model::By::calls;
  return model::By::overview;
}

// Puts the column in front that the user chose.
void choose_metric(const std::string& name, model::Profile& profile) {
  if (name.empty()) return;
  std::vector<std::string> names;
  for (const model::Column& column : profile.columns) names.push_back(column.name);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw UsageError(fmt::format("--metric {}: the recording has no such column", printable(name)),
                     "it has " + printable_list(names));
  }
  profile = model::ranked_by(std::move(profile), static_cast<std::size_t>(found - names.begin()));
  profile.first_only = true;
}

void check_difference_view(const CallpathView& view, const std::string& format) {
  if (view.diff.empty()) {
    if (view.per.empty()) return;
    throw UsageError("--per is for comparisons", "name the recording to compare with by --diff");
  }
  if (format != "text" && format != "json" && format != "html") {
    throw UsageError(fmt::format("--diff: {} has no place for two recordings", format),
                     "use text, json or html");
  }
  const auto refuse = [](const char* what, const char* hint) {
    throw UsageError(fmt::format("--diff: {} cannot be compared", what), hint);
  };
  if (view.wakers) {
    refuse("who ended waits", "leave out --wakers; --metric blocked compares the waits");
  }
  if (view.by == "calls") {
    refuse("bounds of calls", "count the calls by --event uprobe:FUNCTION");
  }
  if (view.by == kByProcess) {
    refuse("processes of two recordings", "leave out --by process; programs are compared");
  }
}

}  // namespace

void check_callpath_format(const std::string& format, const std::string& path) {
  const bool to_stdout = path.empty() || path == "-";
  if ((format == "pprof" || format == "html") && to_stdout && ::isatty(STDOUT_FILENO) == 1) {
    throw UsageError(
        fmt::format("{}, which a terminal cannot show",
                    format == "html" ? "html is a page for a browser" : "pprof is a binary format"),
        "send it to a file, or take another format and run causalctl report later");
  }
  if (format == "text" || format_named(format) != nullptr) return;
  throw UsageError(fmt::format("--format: \"{}\" is not a format of call paths", printable(format)),
                   fmt::format("use one of {}", kCallpathFormats));
}

void check_callpath_view(const CallpathView& view, const std::string& format) {
  check_difference_view(view, format);
  if (!view.causal.empty()) check_gains_view(view, format);
  if (view.wakers && !view.epoch.empty()) {
    throw UsageError("--wakers: who ended waits is not recorded by epoch", "leave out --epoch");
  }
  if (view.by.empty() || view.by == kByProcess) return;
  if (by_of(view.by) == model::By::overview) {
    throw UsageError(fmt::format("--by: \"{}\" is no way to show call paths", printable(view.by)),
                     "use function, line, path, calls or process");
  }
  if (format != "text") {
    throw UsageError(fmt::format("--by {} is for the text report, not for {}", view.by, format),
                     "the other formats have all paths");
  }
}

void choose_kernel_part(std::span<callpath::Recording> runs, const std::string& format,
                        const CallpathView& view) {
  const bool is_page = format == "html" && view.diff.empty() && view.causal.empty();
  if (!view.kernel) {
    if (!is_page) std::for_each(runs.begin(), runs.end(), callpath::fold_kernel);
    return;
  }
  const auto without = std::find_if_not(runs.begin(), runs.end(), callpath::has_kernel_part);
  if (without == runs.end()) return;
  throw UsageError(fmt::format("--kernel: the recording of {} has no functions of the kernel",
                               printable(callpath::words_of(*without))),
                   "causalctl callpath records them as root, where /proc/kallsyms has addresses");
}

bool write_callpath_report(std::span<const callpath::Recording> runs,
                           const std::vector<Warning>& warnings, const ReportOptions& options,
                           const CallpathView& view) {
  const bool by_process = view.by == kByProcess;
  model::Profile profile = view.wakers ? callpath::present_wakers(runs, by_process)
                                       : callpath::present(runs, view.epoch, by_process);
  callpath::apply(view.filters, profile);
  choose_metric(view.metric, profile);
  profile.folds_kernel = !view.kernel;
  for (const std::string& text : texts_of(warnings)) profile.warnings.push_back(text);
  model::make_utf8(profile);
  if (const Format* format = format_named(options.format); format != nullptr) {
    write_output(options.path, format->render(profile), kCallpathLogHint);
    return false;
  }
  const TextLook look = text_look(options);
  write_output(options.path, model::render_text(profile, by_of(view.by), look.color, look.width),
               kCallpathLogHint);
  return model::summary_of(profile, model::by_function(profile)).waits_most;
}

void write_callpath_difference(callpath::ReadLog before, callpath::ReadLog after,
                               const ReportOptions& options, const CallpathView& view) {
  model::Sides sides = callpath::present_sides(std::move(before.runs), std::move(after.runs),
                                               {view.epoch, view.metric, view.per});
  callpath::apply(view.filters, sides.profile);
  model::check_comparable(sides);
  if (!view.more_parts.empty()) sides.more_parts = view.more_parts;
  for (auto& [side, warnings] :
       {std::pair(&sides.before, &before.warnings), std::pair(&sides.after, &after.warnings)}) {
    for (const std::string& text : texts_of(*warnings)) side->head.warnings.push_back(text);
  }
  if (options.format == "json") {
    return write_output(options.path, model::render_difference_json(sides), kCallpathLogHint);
  }
  if (options.format == "html") {
    return write_output(options.path, model::render_difference_html(sides), kCallpathLogHint);
  }
  const TextLook look = text_look(options);
  write_output(options.path,
               model::render_difference_text(sides, by_of(view.by), look.color, look.width),
               kCallpathLogHint);
}

}  // namespace causalctl::commands
