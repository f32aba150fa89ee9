// The complete profile as JSON (docs/callpath-format.md, docs/callpath-schema.json).
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "controller/base/fields.h"
#include "controller/base/proportion.h"
#include "controller/report/callpath/json_text.h"
#include "controller/report/callpath/labels.h"
#include "controller/report/callpath/render.h"
#include "controller/report/json_number.h"

namespace causalctl::report::callpath {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::uint64_t> at(const std::vector<std::vector<std::uint64_t>>& columns,
                              std::size_t row) {
  std::vector<std::uint64_t> values;
  for (const auto& column : columns) values.push_back(column[row]);
  return values;
}

// The samples' share with its 95 % interval.
Json share_json(std::uint64_t count, std::uint64_t all) {
  const Interval share = share_with_interval(count, all);
  return {{"value", json_number(share.value)},
          {"low", json_number(share.low)},
          {"high", json_number(share.high)}};
}

Json head(const Profile& profile, const LabelTree& tree) {
  Json json = {{"version", 3},
               {"kind", "callpath"},
               {"program", profile.program},
               {"host", profile.host},
               {"pid", profile.pid},
               {"runs", profile.runs},
               {"started_ns", profile.started_ns},
               {"wall_ns", profile.wall_ns},
               {"period_ns", profile.period_ns}};
  if (!profile.set.empty()) json["set"] = profile.set;
  if (!profile.programs.empty()) json["processes"] = profile.processes;
  for (const Program& program : profile.programs) {
    json["programs"].push_back({{"program", program.name},
                                {"processes", program.processes},
                                {"cpu_ns", program.cpu_ns},
                                {"blocked_ns", program.blocked_ns}});
  }
  json["chains"] = {{"complete", profile.chains.complete},
                    {"incomplete", profile.chains.incomplete},
                    {"searched", profile.chains.searched},
                    {"reasons", Json::array()}};
  for (const Chains::Reason& reason : profile.chains.reasons) {
    json["chains"]["reasons"].push_back({{"ended", reason.text}, {"count", reason.count}});
  }
  json["time"] = Json::array();
  for (const TimeFinding& finding : profile.time) {
    json["time"].push_back({{"run", finding.run},
                            {"what", name_of(finding.what)},
                            {"column", finding.column},
                            {"ns", finding.ns},
                            {"of_ns", finding.of_ns},
                            {"text", finding.text}});
  }
  json["tail_calls"] = {{"calls", profile.tail_calls.calls},
                        {"found", profile.tail_calls.found},
                        {"ambiguous", profile.tail_calls.ambiguous},
                        {"unexplained", profile.tail_calls.unexplained}};
  json["counts"] = Json::array();
  for (const Count& count : profile.counts) {
    json["counts"].push_back({{"function", count.function},
                              {"column", count.column},
                              {"calls", count.calls},
                              {"exact", count.exact},
                              {"too_dear", count.too_dear},
                              {"per_second", json_number(count.per_second)},
                              {"most_per_second", json_number(count.most_per_second)},
                              {"counted_share", json_number(count.counted_share)},
                              {"cost_ns", count.cost_ns},
                              {"cost_share", json_number(count.cost_share)},
                              {"missing", count.missing}});
  }
  json["epochs"] = Json::array();
  for (const Epoch& epoch : profile.epochs) {
    json["epochs"].push_back({{"run", epoch.run},
                              {"number", epoch.number},
                              {"start_ns", epoch.start_ns},
                              {"length_ns", epoch.length_ns},
                              {"reason", epoch.reason},
                              {"cpu_ns", epoch.cpu_ns},
                              {"samples", epoch.samples}});
  }
  json["columns"] = Json::array();
  for (std::size_t i = 0; i < profile.columns.size(); ++i) {
    const Column& column = profile.columns[i];
    json["columns"].push_back({{"name", column.name},
                               {"unit", column.unit},
                               {"title", column.title},
                               {"total", tree.total[i][0]}});
  }
  json["modules"] = Json::array();
  for (std::size_t i = 0; i < profile.modules.size(); ++i) {
    json["modules"].push_back({{"path", profile.modules[i]}, {"build_id", profile.build_ids[i]}});
  }
  json["notes"] = profile.notes;
  json["warnings"] = profile.warnings;
  return json;
}

// Functions, those with the most of their own first.
Json functions_json(const Profile& profile, const Labels& labels, const LabelTree& tree) {
  const LabelValues values = values_of(tree, Children(tree), labels);
  std::optional<std::size_t> samples;
  for (std::size_t i = 0; i < profile.columns.size(); ++i) {
    if (profile.columns[i].name == "samples") samples = i;
  }
  std::vector<std::uint32_t> order(labels.all.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return at(values.own, a) > at(values.own, b);
  });
  Json list = Json::array();
  for (const std::uint32_t label : order) {
    const Frame& frame = profile.frames[labels.all[label].frame];
    Json row = {{"name", labels.all[label].name}, {"function", frame.function},
                {"module", frame.module},         {"file", file_of(labels.all[label], profile)},
                {"own", at(values.own, label)},   {"total", at(values.total, label)}};
    if (samples) {
      const std::uint64_t all = tree.total[*samples][0];
      row["own_share"] = share_json(values.own[*samples][label], all);
      row["total_share"] = share_json(values.total[*samples][label], all);
    }
    list.push_back(std::move(row));
  }
  return list;
}

// Returns the key that only frames for the processes of a set have.
std::string of_set(const Frame& frame) {
  const bool has_key = frame.stands == Stands::process || frame.stands == Stands::program;
  return has_key ? fmt::format(",\"stands_for\":\"{}\"", name_of(frame.stands)) : "";
}

// Frames and nodes are written one a line, without a tree of JSON values in between: there may be
// hundreds of thousands.
void add_frames(const Profile& profile, std::string& text) {
  for (std::size_t i = 0; i < profile.frames.size(); ++i) {
    const Frame& frame = profile.frames[i];
    fmt::format_to(std::back_inserter(text), "{}\n{{\"function\":{},\"file\":{},\"line\":{},",
                   i == 0 ? "" : ",", quoted(frame.function), quoted(frame.file), frame.line);
    fmt::format_to(std::back_inserter(text),
                   "\"module\":{},\"offset\":{},\"inlined\":{},\"tail\":{},\"group\":{}{}}}",
                   frame.module_number == kNoModule ? "null" : std::to_string(frame.module_number),
                   frame.offset, frame.inlined, frame.tail, frame.is_group(), of_set(frame));
  }
}

void add_nodes(const Profile& profile, std::string& text) {
  std::vector<std::vector<std::uint64_t>> total;
  for (std::size_t i = 0; i < profile.columns.size(); ++i) total.push_back(totals(profile, i));
  for (std::size_t i = 0; i < profile.nodes.size(); ++i) {
    const Node& node = profile.nodes[i];
    const std::string parent = i == 0 ? "null" : std::to_string(node.parent);
    const std::string frame = i == 0 ? "null" : std::to_string(node.frame);
    fmt::format_to(std::back_inserter(text),
                   "{}\n{{\"parent\":{},\"frame\":{},\"own\":[{}],\"total\":[{}]}}",
                   i == 0 ? "" : ",", parent, frame, fmt::join(at(profile.own, i), ","),
                   fmt::join(at(total, i), ","));
  }
}

}  // namespace

std::string render_json(const Profile& profile) {
  const Labels labels = by_function(profile);
  const LabelTree tree = merged(profile, labels);
  Json json = head(profile, tree);
  json["functions"] = functions_json(profile, labels, tree);
  std::string text = json.dump(1, ' ', false, Json::error_handler_t::replace);
  text.resize(text.size() - 2);  // without the line feed and the bracket at its end
  text += ",\n \"frames\": [";
  add_frames(profile, text);
  text += "\n ],\n \"nodes\": [";
  add_nodes(profile, text);
  text += "\n ]\n}\n";
  return text;
}

}  // namespace causalctl::report::callpath
