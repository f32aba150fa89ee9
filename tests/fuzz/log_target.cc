#include "controller/base/error.h"
#include "controller/causal/coz_format.h"
#include "controller/causal/estimate.h"
#include "controller/causal/log.h"
#include "controller/causal/predict.h"
#include "controller/report/render.h"
#include "tests/fuzz/targets.h"

namespace causalctl::fuzz {

void read_log(Bytes bytes) {
  causal::ReadLog log;
  try {
    log = causal::parse_log(as_text(bytes), "fuzz.jsonl");
  } catch (const Error&) {
    return;
  }
  report::Report report = causal::estimate(log.runs);
  report.warnings.insert(report.warnings.end(), log.warnings.begin(), log.warnings.end());
  report::render_json(report);
  const std::string text = report::render_text(report, false, 80);
  for (const char c : text) {
    // A terminal would obey it.
    INVARIANT(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
  }
  causal::coz_profile(log.runs);
}

}  // namespace causalctl::fuzz
