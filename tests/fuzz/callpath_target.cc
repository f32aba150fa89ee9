#include <string>

#include "controller/base/error.h"
#include "controller/callpath/analysis/filter.h"
#include "controller/callpath/analysis/present.h"
#include "controller/callpath/record/log.h"
#include "controller/report/callpath/render.h"
#include "tests/fuzz/targets.h"

namespace causalctl::fuzz {

void read_callpath_log(Bytes bytes) {
  namespace model = report::callpath;
  callpath::ReadLog log;
  try {
    log = callpath::parse_log(as_text(bytes), "fuzz.jsonl");
  } catch (const Error&) {
    return;
  }
  if (log.runs.empty()) return;
  model::Profile profile = callpath::present(log.runs);
  for (const Warning& warning : log.warnings) profile.warnings.push_back(warning.text());
  std::string text = model::render_folded(profile) + model::render_callgrind(profile);
  for (const auto by :
       {model::By::overview, model::By::function, model::By::line, model::By::path}) {
    text += model::render_text(profile, by, false, 80);
  }
  for (const char c : text) {
    // A terminal would obey it.
    INVARIANT(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
  }
  model::render_json(profile);
  model::render_speedscope(profile);
  model::render_firefox(profile);
  model::render_hatchet(profile);
  model::render_html(profile);
  model::render_pprof(profile);
  try {
    callpath::apply({{callpath::Filter::Kind::under, "f"}}, profile);
  } catch (const UsageError&) {
  }
}

}  // namespace causalctl::fuzz
