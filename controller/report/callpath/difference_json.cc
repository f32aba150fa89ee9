// What changed between two recordings, as JSON (docs/callpath-format.md,
// docs/callpath-difference-schema.json).
#include <nlohmann/json.hpp>

#include "controller/base/fields.h"
#include "controller/report/callpath/difference.h"
#include "controller/report/callpath/head.h"
#include "controller/report/callpath/render.h"
#include "controller/report/json_number.h"

namespace causalctl::report::callpath {
namespace {

using Json = nlohmann::ordered_json;

Json side_json(const Side& side, const Profile& both) {
  const Profile& head = side.head;
  Json json = {{"program", head.program},
               {"host", head.host},
               {"pid", head.pid},
               {"runs", head.runs},
               {"started_ns", head.started_ns},
               {"wall_ns", head.wall_ns},
               {"period_ns", head.period_ns},
               {"parts", side.parts.size()}};
  if (!head.set.empty()) json["set"] = head.set;
  const auto sum = [&](std::size_t column) { return totals(both, column)[0]; };
  std::uint64_t total = 0;
  for (const std::size_t column : side.parts) total += sum(column);
  json["total"] = total;
  json["samples"] = side.samples ? Json(sum(*side.samples)) : Json();
  json["chains"] = {{"complete", head.chains.complete},
                    {"incomplete", head.chains.incomplete},
                    {"searched", head.chains.searched}};
  json["notes"] = time_and_notes(head);
  json["warnings"] = head.warnings;
  return json;
}

Json change_json(const Change& change) {
  return {{"old", json_number(change.before)},
          {"new", json_number(change.after)},
          {"difference", json_number(change.after - change.before)},
          {"low", json_number(change.difference, &Interval::low)},
          {"high", json_number(change.difference, &Interval::high)},
          {"p_value", change.difference ? json_number(change.p_value) : Json()}};
}

Json compared_json(const Compared& row) {
  if (row.verdict == Verdict::too_small) return Json();
  Json json = change_json(row.change);
  json["adjusted_p_value"] = row.change.difference ? json_number(row.adjusted_p) : Json();
  json["verdict"] = name_of(row.verdict);
  return json;
}

Json family_json(const Family& family) {
  return {{"compared", family.compared},
          {"changed", family.changed},
          {"perhaps", family.perhaps},
          {"expected_by_chance", json_number(kChance * static_cast<double>(family.compared))}};
}

// A function or line is there if it was compared with or without what it calls.
Json table_json(const Sides& sides, const DifferenceTable& table) {
  Json json = {{"own", family_json(table.own)}, {"total", family_json(table.total)}};
  Json& rows = json["rows"] = Json::array();
  for (const std::uint32_t label : ranked_changes(table.total)) {
    const Frame& frame = sides.profile.frames[table.labels.all[label].frame];
    rows.push_back({{"name", table.labels.all[label].name},
                    {"function", frame.function},
                    {"module", frame.module},
                    {"file", frame.file},
                    {"line", frame.line},
                    {"own", compared_json(table.own.rows[label])},
                    {"total", compared_json(table.total.rows[label])}});
  }
  return json;
}

// Each path is the path of its parent, which comes before it, and one function more.
Json paths_json(const DifferenceTree& tree) {
  Json json = family_json(tree.total);
  Json& rows = json["rows"] = Json::array();
  std::vector<std::size_t> number(tree.tree.nodes.size());
  for (std::size_t node = 1; node < tree.tree.nodes.size(); ++node) {
    if (tree.total.rows[node].verdict == Verdict::too_small) continue;
    const LabelTree::Node& at = tree.tree.nodes[node];
    number[node] = rows.size();
    rows.push_back({{"parent", at.parent == 0 ? Json() : Json(number[at.parent])},
                    {"function", tree.labels.all[at.label].name},
                    {"total", compared_json(tree.total.rows[node])}});
  }
  return json;
}

}  // namespace

std::string render_difference_json(const Sides& sides) {
  Json json = {{"version", 1}, {"kind", "callpath-difference"}};
  json["metric"] = {
      {"name", sides.metric.name}, {"unit", sides.metric.unit}, {"title", sides.metric.title}};
  json["per"] = sides.per.empty() ? "share" : sides.per;
  json["old"] = side_json(sides.before, sides.profile);
  json["new"] = side_json(sides.after, sides.profile);
  json["notes"] = sides.notes;
  json["all"] = sides.per.empty() ? Json() : change_json(change_of_all(sides));
  json["functions"] = table_json(sides, table_of_changes(sides, by_function(sides.profile)));
  json["lines"] = table_json(sides, table_of_changes(sides, by_known_line(sides.profile)));
  json["paths"] = paths_json(tree_of_changes(sides, by_function(sides.profile)));
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace causalctl::report::callpath
