#include "controller/commands/gains.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "controller/base/error.h"
#include "controller/callpath/analysis/charge.h"
#include "controller/callpath/analysis/filter.h"
#include "controller/callpath/analysis/present.h"
#include "controller/commands/causal_profile.h"
#include "controller/report/callpath/gains.h"

namespace causalctl::commands {
namespace {

namespace model = report::callpath;

bool is_of_build(const causal::RunGroup& group, std::span<const callpath::Recording> paths) {
  const std::string& build_id = group.basis.build_id;
  return build_id.empty() || std::all_of(paths.begin(), paths.end(),
                                         [&](const auto& run) { return run.build_id == build_id; });
}

}  // namespace

void check_gains_view(const CallpathView& view, const std::string& format) {
  const auto refuse = [](const std::string& option) {
    throw UsageError(fmt::format("--causal has no place for {}", option),
                     "gains are those of CPU time, by path: leave it out");
  };
  if (!view.by.empty()) refuse("--by");
  if (!view.metric.empty()) refuse("--metric");
  if (view.wakers) refuse("--wakers");
  if (view.kernel) refuse("--kernel");
  if (!view.diff.empty()) refuse("--diff");
  if (format != "text" && format != "json" && format != "html") {
    throw UsageError(fmt::format("--causal: {} has no place for gains", format),
                     "use text, json or html");
  }
}

void write_gains(const callpath::ReadLog& log, const std::vector<LogText>& profile,
                 const std::string& group, const ReportOptions& options, const CallpathView& view) {
  const causal::RunGroup chosen = causal_group(profile, group);
  model::Profile paths = callpath::present(log.runs, view.epoch);
  callpath::apply(view.filters, paths);
  for (const std::string& text : texts_of(log.warnings)) paths.warnings.push_back(text);
  model::CausalProfile causal = causal_profile(chosen, is_of_build(chosen, log.runs));
  if (!paths.set.empty()) paths.program = causal.program;  // a set has no program of its own
  const std::vector<model::Charge> charges =
      callpath::charge(paths, causal.units, scope_of(chosen.runs.front()));
  const model::Gains gains = model::gains_of(paths, charges, std::move(causal));
  if (options.format == "json") {
    return write_output(options.path, model::render_gains_json(paths, gains), kCallpathLogHint);
  }
  if (options.format == "html") {
    return write_output(options.path, model::render_gains_html(paths, charges, gains),
                        kCallpathLogHint);
  }
  const TextLook look = text_look(options);
  write_output(options.path, model::render_gains_text(paths, gains, look.color, look.width),
               kCallpathLogHint);
}

}  // namespace causalctl::commands
