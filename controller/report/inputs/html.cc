// Renders input sizes as a page: the shell of controller/report/page/ around a table of routines
// and plots, which the scripts in assets/ make of what the JSON report has
// (docs/inputs-schema.json).
#include <fmt/format.h>

#include "controller/report/inputs/render.h"
#include "controller/report/inputs/words.h"
#include "controller/report/page/page.h"
#include "controller/report/text.h"

namespace causalctl::report::inputs {
namespace {

constexpr std::size_t kMostRoutines = 200;  // more would make a page too large to open

// Returns the profile with the first routines only, and what is left out as a note.
Profile shortened_profile(Profile profile) {
  if (profile.routines.size() <= kMostRoutines) return profile;
  profile.notes.push_back(fmt::format("{} more routines are in the JSON report",
                                      grouped(profile.routines.size() - kMostRoutines)));
  profile.routines.resize(kMostRoutines);
  return profile;
}

}  // namespace

std::string render_html(const Profile& all) {
  const Profile profile = shortened_profile(all);
  page::Page page;
  page.heading = "Input sizes";
  page.facts = {{"command", profile.command}};
  if (!profile.host.empty()) page.facts.emplace_back("host", profile.host);
  page.facts.emplace_back("runs", grouped(profile.runs));
  page.facts.emplace_back("blocks", grouped(profile.total[0]));
  page.facts.emplace_back("instructions", grouped(profile.total[1]));
  page.facts.emplace_back("cell", fmt::format("{} bytes", profile.cell_bytes));
  page.facts.emplace_back("input not in rms", percent(profile.volume) + " %");
  page.notes = {verdict_words(profile)};
  if (const std::string words = forecast_words(profile); !words.empty()) {
    page.notes.push_back(words);
  }
  page.notes.insert(page.notes.end(), profile.notes.begin(), profile.notes.end());
  page.warnings = profile.warnings;
  page.data = render_json(profile);
  page.body = "inputs/inputs.html";
  page.styles = {"inputs/inputs.css"};
  page.scripts = {"page/table.js", "inputs/plot.js", "inputs/inputs.js"};
  return page::render(page);
}

}  // namespace causalctl::report::inputs
