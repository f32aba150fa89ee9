#include <string>
#include <utility>
#include <vector>

#include "controller/base/error.h"
#include "controller/causal/analysis/coz_format.h"
#include "controller/causal/analysis/estimate.h"
#include "controller/causal/analysis/run_groups.h"
#include "controller/causal/record/log.h"
#include "controller/report/causal/render.h"
#include "tests/fuzz/targets.h"

namespace causalctl::fuzz {

void read_log(Bytes bytes) {
  causal::ReadLog log;
  try {
    log = causal::parse_log(as_text(bytes), "fuzz.jsonl");
  } catch (const Error&) {
    return;
  }
  const std::vector<causal::RunGroup> groups = causal::group_runs(std::move(log.runs));
  std::string text = report::render_warnings(causal::remarks_on(groups), false);
  for (const causal::RunGroup& group : groups) {
    report::Report report = causal::estimate(group.runs);
    report.warnings.insert(report.warnings.end(), log.warnings.begin(), log.warnings.end());
    report::render_json(report);
    text += report::render_heading(1, groups.size(), group.name, false);
    text += report::render_text(report, false, 80);
    causal::coz_profile(group.runs);
  }
  for (const char c : text) {
    // A terminal would obey it.
    INVARIANT(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
  }
}

}  // namespace causalctl::fuzz
