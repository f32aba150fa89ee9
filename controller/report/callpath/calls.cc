#include "controller/report/callpath/calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "controller/base/printable.h"

namespace causalctl::report::callpath {
namespace {

constexpr std::size_t kWidth = 12;  // of a column
constexpr std::size_t kMeanWidth = 14;
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

namespace {

// "… → parse → next", the innermost functions.
std::string short_path(const std::vector<std::string>& path) {
  constexpr std::size_t kMost = 4;
  const std::size_t first = path.size() > kMost ? path.size() - kMost : 0;
  std::string text = first > 0 ? "… → " : "";
  for (std::size_t i = first; i < path.size(); ++i) text += (i > first ? " → " : "") + path[i];
  return text;
}

std::string left_aligned(const std::string& text, std::size_t width) {
  return fmt::format("{:<{}}", text, width);
}

// With three digits.
std::string rounded(double rate) {
  return rate >= 100 ? grouped(static_cast<std::uint64_t>(std::llround(rate)))
                     : number(rate, rate >= 10 ? 1 : 2);
}

void write_rate(const CallRate& rate, Text& out) {
  const std::string interval = fmt::format("[{}, {}]", rounded(rate.low), rounded(rate.high));
  const std::string mean =
      rate.mean_ns > 0 ? duration(static_cast<Nanoseconds>(rate.mean_ns)) : std::string();
  std::string place = short_path(rate.path);
  if (rate.line > 0) {
    place += fmt::format(" ({}:{})", rate.file.substr(rate.file.rfind('/') + 1), rate.line);
  }
  if (rate.stopped) place += ", until a thread or the program ended";
  out.line("{}  {}{}  {}", right_aligned(rounded(rate.per_second), kWidth),
           left_aligned(interval, 2 * kWidth), left_aligned(mean, kMeanWidth), printable(place));
}

// "longer than 100 µs: 380 to 430, 200 µs: 90 to 160", as far as there may be more than this share.
std::string longer_words(const CallRate& rate) {
  constexpr double kLeast = 0.02;
  std::vector<std::string> words;
  for (const LongerCalls& each : rate.longer) {
    if (each.high < kLeast * rate.per_second) break;
    words.push_back(
        fmt::format("{}: {} to {}", duration(each.than_ns), rounded(each.low), rounded(each.high)));
  }
  return words.empty() ? "" : fmt::format("longer than {}", fmt::join(words, ", "));
}

}  // namespace

std::string without_rate(const WatchedPlaces& watched) {
  if (watched.rates.size() == watched.count()) return "";
  std::vector<std::string> reasons;
  if (watched.out_of_range > 0) {
    reasons.push_back(fmt::format(
        "of {} most of the time is in calls shorter than {} or longer than {}",
        watched.out_of_range, duration(watched.longer_than_ns), duration(watched.shorter_than_ns)));
  }
  if (watched.few_returns > 0) {
    reasons.push_back(
        fmt::format("of {} too few returns were seen, and a longer recording may tell more",
                    watched.few_returns));
  }
  return fmt::format("Of {} places whose calls were watched, {} have no rate: {}.", watched.count(),
                     watched.out_of_range + watched.few_returns, fmt::join(reasons, "; "));
}

namespace {

// The table of what the samples have seen.
void write_seen(const Profile& profile, Text& out) {
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

}  // namespace

void write_rates(const WatchedPlaces& watched, std::size_t most, bool with_durations, Text& out) {
  if (watched.count() == 0) return;
  out.blank();
  out.line("{}", out.colored(fmt::format("How often calls are made that last longer than {}",
                                         duration(watched.longer_than_ns)),
                             kBold));
  if (!watched.rates.empty()) {
    out.line("{}", out.colored(right_aligned("a second", kWidth) + "  " +
                                   left_aligned("[95 %]", 2 * kWidth) +
                                   left_aligned("mean, at most", kMeanWidth) + "  made in",
                               kDim));
  }
  const std::size_t shown = std::min(most, watched.rates.size());
  for (std::size_t i = 0; i < shown; ++i) {
    write_rate(watched.rates[i], out);
    const std::string longer = with_durations ? longer_words(watched.rates[i]) : "";
    if (!longer.empty())
      out.line("{}", out.colored(std::string(kWidth, ' ') + "  " + longer, kDim));
  }
  if (watched.rates.size() > shown) {
    out.line("… {} more: --by calls", watched.rates.size() - shown);
  }
  if (const std::string reasons = without_rate(watched); !reasons.empty()) out.paragraph(reasons);
}

void write_calls(const Profile& profile, Text& out) {
  write_seen(profile, out);
  write_rates(profile.watched, SIZE_MAX, true, out);
}

}  // namespace causalctl::report::callpath
