#include "controller/commands/inputs_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/printable.h"
#include "controller/base/printable_list.h"
#include "controller/base/shell_quotes.h"
#include "controller/inputs/analysis/present.h"
#include "controller/inputs/record/log_kind.h"
#include "controller/inputs/record/log_read.h"
#include "controller/report/inputs/render.h"
#include "unwind/names/names.h"

namespace causalctl::commands {
namespace {

namespace sizes = report::inputs;

constexpr std::size_t kSuggestions = 3;
constexpr const char* kInputsLogHint = "the log still has everything: causalctl report LOG";

bool goes_to_stdout(const ReportOptions& options) {
  return options.path.empty() || options.path == "-";
}

// Keeps the routines of this name, or those whose names have it as a part if there is none.
void choose_routines(const std::string& function, sizes::Profile& profile) {
  const auto keep = [&](const auto& fits) {
    if (std::none_of(profile.routines.begin(), profile.routines.end(), fits)) return false;
    std::erase_if(profile.routines, [&](const sizes::Routine& each) { return !fits(each); });
    return true;
  };
  if (keep([&](const sizes::Routine& each) { return each.name == function; })) return;
  if (keep([&](const sizes::Routine& each) { return each.name.find(function) != each.name.npos; }))
    return;
  std::vector<std::string> names;
  for (const sizes::Routine& each : profile.routines) names.push_back(each.name);
  const std::vector<std::string> near = unwind::nearest(function, names, kSuggestions);
  throw UsageError(
      fmt::format("--function {}: no such routine was called and returned", printable(function)),
      near.empty() ? "causalctl report LOG lists those that were"
                   : "there is: " + printable_list(near));
}

std::string quoted_names(const std::vector<LogText>& logs) {
  std::string names;
  for (const LogText& log : logs) names += (names.empty() ? "" : " ") + in_shell_quotes(log.name);
  return names;
}

std::string text_of_inputs(const sizes::Profile& profile, const InputsView& view,
                           const ReportOptions& options) {
  const TextLook look = text_look(options);
  const bool cuts_names = goes_to_stdout(options) && ::isatty(STDOUT_FILENO) == 1;
  const sizes::TextOptions text{look.color, look.width, cuts_names};
  if (view.function.empty()) return sizes::render_text(profile, text);
  return sizes::render_routine_text(profile, profile.routines.front(), text);
}

std::string rendered(const sizes::Profile& profile, const InputsView& view,
                     const ReportOptions& options) {
  if (options.format == "json") return sizes::render_json(profile);
  if (options.format == "csv") return sizes::render_csv(profile);
  if (options.format == "aprof") return sizes::render_aprof(profile);
  if (options.format == "html") return sizes::render_html(profile);
  return text_of_inputs(profile, view, options);
}

}  // namespace

bool is_of_inputs(const LogText& log) { return begins_as(inputs::kLogKind, log.text); }

void check_inputs_view(const InputsView& view, const ReportOptions& options) {
  check_format(options.format, {"text", "json", "html", "aprof", "csv"});
  if (options.format == "html" && goes_to_stdout(options) && ::isatty(STDOUT_FILENO) == 1) {
    throw UsageError("html is a page for a browser, which a terminal cannot show",
                     "send it to a file with --output");
  }
  if (!view.metric.empty() && view.metric != "trms" && view.metric != "rms") {
    throw UsageError(fmt::format("--metric {}: no such size of an input", printable(view.metric)),
                     "use trms, which has the input from other threads and the kernel, or rms");
  }
  if (!view.cost.empty() && view.cost != "blocks" && view.cost != "instructions") {
    throw UsageError(fmt::format("--cost {}: no such cost was counted", printable(view.cost)),
                     "use blocks or instructions");
  }
}

void write_inputs_report(const std::vector<LogText>& logs, const InputsView& view,
                         const ReportOptions& options) {
  const inputs::ReadLog log = inputs::parse_logs(logs);
  if (log.runs.empty()) {
    throw Error(fmt::format("there is no run in {}", logs.front().name),
                "record one: causalctl inputs run -- CMD");
  }
  inputs::Choice choice;
  if (view.metric == "rms") choice.metric = inputs::Metric::rms;
  if (view.cost == "instructions") choice.cost = inputs::CostUnit::instructions;
  choice.both_costs = options.format == "html" || options.format == "json";
  sizes::Profile profile = inputs::present(log.runs, choice);
  profile.logs = quoted_names(logs);
  for (const std::string& text : texts_of(log.warnings)) profile.warnings.push_back(text);
  if (!view.function.empty()) choose_routines(view.function, profile);
  write_output(options.path, rendered(profile, view, options), kInputsLogHint);
}

}  // namespace causalctl::commands
