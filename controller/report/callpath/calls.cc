#include "controller/report/callpath/calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "controller/base/printable.h"

namespace causalctl::report::callpath {
namespace {

constexpr std::size_t kWidth = 12;  // of a column
constexpr std::size_t kRows = 200;  // most rows

std::string heading(const Column& column) {
  if (column.name == "new_min") return "at least";
  if (column.name == "new_max") return "at most";
  return column.name;
}

}  // namespace

std::vector<std::size_t> call_columns(const Profile& profile) {
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < profile.columns.size(); ++i) {
    if (profile.columns[i].unit == kCalls) columns.push_back(i);
  }
  return columns;
}

std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint64_t>> calls_by_function(
    const Profile& profile, const Labels& functions) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint64_t>> edges;
  const std::vector<std::size_t> columns = call_columns(profile);
  for (std::size_t node = 1; node < profile.nodes.size(); ++node) {
    const std::uint32_t parent = profile.nodes[node].parent;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::uint64_t value = profile.own[columns[i]][node];
      if (value == 0) continue;
      const std::uint32_t caller =
          parent == 0 ? kNoCaller : functions.of_frame[profile.nodes[parent].frame];
      auto& values = edges[{caller, functions.of_frame[profile.nodes[node].frame]}];
      values.resize(columns.size());
      values[i] += value;
    }
  }
  return edges;
}

void write_calls(const Profile& profile, Text& out) {
  const Labels functions = by_function(profile);
  const auto edges = calls_by_function(profile, functions);
  out.blank();
  if (edges.empty()) return out.line("The log does not tell of calls.");
  out.line("{}", out.colored("Calls that the samples have seen", kBold));
  std::string head;
  for (const std::size_t column : call_columns(profile)) {
    head += right_aligned(heading(profile.columns[column]), kWidth);
  }
  out.line("{}", out.colored(head + "  call", kDim));
  std::vector<std::pair<std::vector<std::uint64_t>, std::string>> rows;
  for (const auto& [edge, values] : edges) {
    const std::string callee = functions.all[edge.second].name;
    rows.emplace_back(
        values, edge.first == kNoCaller ? callee : functions.all[edge.first].name + " → " + callee);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (std::size_t i = 0; i < std::min(kRows, rows.size()); ++i) {
    std::string text;
    for (const std::uint64_t value : rows[i].first) text += right_aligned(grouped(value), kWidth);
    out.line("{}  {}", text, printable(rows[i].second));
  }
  if (rows.size() > kRows) out.line("… {} more: --format json", rows.size() - kRows);
}

}  // namespace causalctl::report::callpath
