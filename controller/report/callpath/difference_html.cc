// Renders what changed between two recordings as a page: that of the new recording, with the old
// one's values as a column of their own, and frames coloured by the difference.
#include <fmt/format.h>

#include <numeric>

#include "controller/report/callpath/difference.h"
#include "controller/report/callpath/head.h"
#include "controller/report/callpath/html.h"
#include "controller/report/callpath/render.h"

namespace causalctl::report::callpath {
namespace {

// The values of both as two columns: what the new one has, and what the old one has.
Profile two_columns(const Sides& sides) {
  Profile profile = sides.after.head;
  profile.frames = sides.profile.frames;
  profile.nodes = sides.profile.nodes;
  profile.modules = sides.profile.modules;
  profile.build_ids = sides.profile.build_ids;
  profile.columns.clear();
  profile.own.clear();
  const auto add = [&](const Side& side, const std::string& name, const std::string& title) {
    profile.columns.push_back({name, sides.metric.unit, title});
    std::vector<std::uint64_t>& sum = profile.own.emplace_back(profile.nodes.size());
    for (const std::size_t column : side.parts) {
      for (std::size_t node = 0; node < sum.size(); ++node) {
        sum[node] += sides.profile.own[column][node];
      }
    }
  };
  add(sides.after, sides.metric.name, sides.metric.title);
  add(sides.before, "old", sides.metric.title + " before");
  for (const std::string& note : sides.notes) profile.notes.push_back(note);
  for (const std::string& line : time_and_notes(sides.before.head)) {
    profile.notes.push_back("OLD: " + line);
  }
  for (const std::string& warning : sides.before.head.warnings) {
    profile.warnings.push_back("OLD: " + warning);
  }
  return profile;
}

double base_of(const Side& side, const Profile& profile, std::size_t column) {
  if (side.bases.empty()) return static_cast<double>(totals(profile, column)[0]);
  return std::accumulate(side.bases.begin(), side.bases.end(), 0.0);
}

// Whether each function has changed, with or without what it calls.
std::string changed_json(const DifferenceTable& table) {
  std::string json;
  for (std::size_t i = 0; i < table.labels.all.size(); ++i) {
    const auto is_changed = [&](const Family& family) {
      return family.rows[i].verdict == Verdict::more || family.rows[i].verdict == Verdict::less;
    };
    json += json.empty() ? "" : ",";
    json += is_changed(table.own) || is_changed(table.total) ? "1" : "0";
  }
  return "[" + json + "]";
}

}  // namespace

std::string render_difference_html(const Sides& sides) {
  const Profile profile = two_columns(sides);
  const DifferenceTable table = table_of_changes(sides, by_function(sides.profile));
  page::Page page =
      page_of(profile, fmt::format(",\n\"difference\":{{\"bases\":[{},{}],\"changed\":{}}}",
                                   base_of(sides.after, profile, 0),
                                   base_of(sides.before, profile, 1), changed_json(table)));
  page.facts.emplace_back(
      "compared with", program_words(sides.before.head) + ": " + sampling_words(sides.before.head));
  return page::render(page);
}

}  // namespace causalctl::report::callpath
