// `causalctl calc` as a page: the shell of controller/report/page/ around a listing, which the
// scripts in assets/ make of what the JSON report has (docs/calc-schema.json).
#include <fmt/format.h>

#include "controller/base/base_name.h"
#include "controller/report/continuous/calc_model.h"
#include "controller/report/continuous/heads.h"
#include "controller/report/page/page.h"

namespace causalctl::report::continuous {

std::string render_html(const Calc& calc) {
  page::Page page;
  page.heading = fmt::format("{} ({})", calc.function, base_name(calc.image));
  page.facts = {{"file", calc.image},
                {"host", calc.host},
                {"recorded", calc.epochs.front().begin + " to " + calc.epochs.back().end},
                {"samples", grouped(calc.samples)},
                {"on a core", seconds(calc.time_ns) + " s"},
                {"of all time", fmt::format("{} % [{}, {}]", percent(calc.share.value),
                                            percent(calc.share.low), percent(calc.share.high))}};
  if (calc.counts) page.facts.emplace_back("counts", "exact, of " + calc.counts->command);
  if (!calc.counts) page.notes.push_back(std::string("counts: ") + kNoCounts);
  if (calc.counts && calc.counts->runs <= 0) page.notes.push_back(std::string("runs: ") + kNoRuns);
  page.warnings = calc.warnings;
  page.data = render_json(calc);
  page.body = "continuous/calc.html";
  page.styles = {"continuous/calc.css"};
  page.scripts = {"continuous/arcs.js", "continuous/calc.js"};
  return page::render(page);
}

}  // namespace causalctl::report::continuous
