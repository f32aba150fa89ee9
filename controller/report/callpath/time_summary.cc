#include "controller/report/callpath/time_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "controller/base/language_runtime.h"
#include "controller/base/number.h"
#include "controller/report/callpath/head.h"
#include "controller/report/few_cores.h"
#include "controller/report/text.h"

namespace causalctl::report::callpath {
namespace {

constexpr double kTold = 0.15;          // share of a state's time from which a function is told
constexpr std::size_t kMostParts = 2;   // functions of a state
constexpr std::size_t kNameWidth = 40;  // of a function
constexpr double kOneThread = 1.05;     // threads on average, up to which there was one

struct Words {
  State state;
  std::string_view column;
  const char* words;
};
constexpr std::array<Words, 5> kStates = {{{State::on_core, "cpu", "on a core"},
                                           {State::blocked, "blocked", "blocked"},
                                           {State::runnable, "runnable", "waiting for a core"},
                                           {State::stopped, "stopped", "stopped"},
                                           {State::frozen, "frozen", "frozen"}}};

// Returns the node whose function blocked time at this node is of. What has ended a wait stands
// below it.
std::uint32_t waiting_node(const Profile& profile, std::uint32_t node) {
  std::uint32_t waited = node;
  bool is_own = false;  // whether `waited` is in the program's own code
  for (std::uint32_t at = node; at != 0; at = profile.nodes[at].parent) {
    const Frame& frame = profile.frames[profile.nodes[at].frame];
    if (frame.is_group()) break;
    if (frame.function == kWokenBy) {
      waited = profile.nodes[at].parent;
      is_own = false;
    } else if (!is_own && !frame.kernel && !is_language_runtime(frame.module)) {
      waited = at;
      is_own = true;
    }
  }
  return waited;
}

// Those of a state that has no function are none.
std::vector<StateTime::Part> parts_of(const Profile& profile, const Labels& labels,
                                      const StateTime& time) {
  if (time.state != State::on_core && time.state != State::blocked) return {};
  std::map<std::uint32_t, std::uint64_t> sums;
  const std::vector<std::uint64_t>& own = profile.own[time.column];
  for (std::uint32_t node = 1; node < profile.nodes.size(); ++node) {
    if (own[node] == 0) continue;
    const std::uint32_t at = time.state == State::blocked ? waiting_node(profile, node) : node;
    const std::uint32_t frame = profile.nodes[at].frame;
    if (!profile.frames[frame].is_group()) sums[labels.of_frame[frame]] += own[node];
  }
  std::vector<StateTime::Part> parts;
  for (const auto& [label, ns] : sums) {
    if (share_of(ns, time.ns) >= kTold) parts.push_back({label, ns});
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.ns > b.ns; });
  parts.resize(std::min(parts.size(), kMostParts));
  return parts;
}

std::string few_digits(double value) {
  if (value < 0.01) return "under 0.01";
  return number(value, value >= 9.95 ? 0 : value >= 0.095 ? 1 : 2);
}

std::string few_percent(double share) {
  if (share < 0.001) return "under 0.1 %";
  return number(100 * share, share >= 0.0995 ? 0 : 1) + " %";
}

}  // namespace

TimeSummary summary_of(const Profile& profile, const Labels& labels) {
  TimeSummary summary;
  const auto has = [&](const char* name) { return column_named(profile, name).has_value(); };
  summary.has_waits = has("cpu") && (has("blocked") || has("runnable") || has("waits"));
  for (const Words& each : kStates) {
    const auto column = column_named(profile, each.column);
    if (!column) continue;
    StateTime time{each.state, *column, totals(profile, *column)[0], {}};
    if (time.ns == 0) continue;
    time.parts = parts_of(profile, labels, time);
    summary.ns += time.ns;
    summary.states.push_back(std::move(time));
  }
  if (profile.wall_ns > 0) {
    summary.threads = static_cast<double>(summary.ns) / static_cast<double>(profile.wall_ns);
  }
  std::stable_sort(summary.states.begin(), summary.states.end(),
                   [](const auto& a, const auto& b) { return a.ns > b.ns; });
  const auto cores = std::find_if(summary.states.begin(), summary.states.end(),
                                  [](const auto& each) { return each.state == State::on_core; });
  const double on_core = cores == summary.states.end() ? 0 : static_cast<double>(cores->ns);
  summary.waits_most = !summary.states.empty() && summary.states.front().state == State::blocked &&
                       on_core < kFewCores * static_cast<double>(profile.wall_ns);
  return summary;
}

std::string words_of(const TimeSummary& summary, const Profile& profile, const Labels& labels,
                     const ShortNames& names) {
  if (!column_named(profile, "cpu")) {
    return fmt::format("{}: {}", program_words(profile), sampling_words(profile));
  }
  std::string text = fmt::format("{} of {}", duration(profile.wall_ns), program_words(profile));
  if (profile.is_part) text += ", on these paths";
  if (summary.states.empty()) return text + ": no time was recorded";
  // Part of the paths has part of the threads' time, of which shares would say nothing.
  const bool as_shares = summary.has_waits && summary.threads <= kOneThread && !profile.is_part;
  const auto amount = [&](std::uint64_t ns) {
    if (as_shares) return few_percent(share_of(ns, summary.ns));
    return few_digits(static_cast<double>(ns) / static_cast<double>(profile.wall_ns));
  };
  if (summary.has_waits && !as_shares) {
    text += fmt::format(", {} threads on average", few_digits(summary.threads));
  }
  const char* between = ": ";
  for (const StateTime& time : summary.states) {
    const auto words = std::find_if(kStates.begin(), kStates.end(),
                                    [&](const Words& each) { return each.state == time.state; });
    const bool is_cores = !summary.has_waits && time.state == State::on_core;
    text += fmt::format("{}{} {}", between, amount(time.ns), is_cores ? "cores" : words->words);
    between = ", ";
    const char* inner = " (";
    for (const StateTime::Part& part : time.parts) {
      text += fmt::format("{}{} {}", inner, amount(part.ns),
                          names.fit(printable(labels.all[part.label].name), kNameWidth));
      inner = ", ";
    }
    if (!time.parts.empty()) text += ")";
  }
  return text;
}

}  // namespace causalctl::report::callpath
