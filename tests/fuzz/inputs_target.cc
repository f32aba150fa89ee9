#include <string>

#include "controller/base/error.h"
#include "controller/inputs/analysis/present.h"
#include "controller/inputs/record/log_read.h"
#include "controller/report/inputs/render.h"
#include "tests/fuzz/targets.h"

namespace causalctl::fuzz {

void read_inputs_log(Bytes bytes) {
  namespace model = report::inputs;
  inputs::ReadLog log;
  model::Profile profile;
  try {
    log = inputs::parse_logs({{"fuzz.jsonl", as_text(bytes)}});
    if (log.runs.empty()) return;
    profile = inputs::present(log.runs, {inputs::Metric::trms, inputs::CostUnit::blocks, true});
  } catch (const Error&) {
    return;
  }
  for (const Warning& warning : log.warnings) profile.warnings.push_back(warning.text());
  std::string text = model::render_text(profile, {false, 80, true}) + model::render_aprof(profile);
  for (const model::Routine& routine : profile.routines) {
    text += model::render_routine_text(profile, routine, {false, 80, false});
  }
  for (const char c : text) {
    // A terminal would obey it.
    INVARIANT(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
  }
  model::render_json(profile);
  model::render_csv(profile);
  model::render_html(profile);
}

}  // namespace causalctl::fuzz
