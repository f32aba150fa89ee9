// Renders gains by path as text, as JSON (docs/callpath-format.md,
// docs/callpath-gains-schema.json), and as the page of the call paths.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "controller/base/fields.h"
#include "controller/base/number.h"
#include "controller/base/printable.h"
#include "controller/report/callpath/gains.h"
#include "controller/report/callpath/head.h"
#include "controller/report/callpath/html.h"
#include "controller/report/callpath/json_text.h"
#include "controller/report/callpath/labels.h"
#include "controller/report/json_number.h"
#include "controller/report/short_names.h"
#include "controller/report/text.h"

namespace causalctl::report::callpath {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kGainColumns = 51;  // before the names of units
constexpr std::size_t kUnitColumn = 20;
constexpr std::size_t kMostGains = 30;
constexpr std::size_t kNarrowestStep = 8;

// Leaves out callers that do not fit, the outermost first.
std::string path_words(const std::vector<std::string>& path, const ShortNames& names,
                       std::size_t width) {
  std::string text;
  for (std::size_t i = path.size(); i-- > 0;) {
    const std::string name = printable(path[i]);
    const std::string longer = text.empty() ? name : name + " → " + text;
    const bool is_last = i == 0;
    if (!text.empty() && columns(longer) + (is_last ? 0 : 4) > width) return "… → " + text;
    text = text.empty() ? names.fit(name, width - std::min<std::size_t>(width, 4)) : longer;
  }
  return text;
}

ShortNames units_shown(const Gains& gains) {
  std::vector<std::string> names;
  for (const CausalUnit& unit : gains.causal.units) names.push_back(printable(unit.name));
  return ShortNames(std::move(names));
}

ShortNames functions_shown(const Gains& gains) {
  std::vector<std::string> names;
  for (const Gain& each : gains.paths) {
    for (const std::string& name : each.path) names.push_back(printable(name));
  }
  return ShortNames(std::move(names), kNarrowestStep);
}

void write_coverage(const Gains& gains, Text& out) {
  std::uint64_t with_effect = 0;
  std::uint64_t without = 0;
  for (std::size_t i = 0; i < gains.causal.units.size(); ++i) {
    const UnitVerdict verdict = gains.causal.units[i].verdict;
    if (verdict == UnitVerdict::not_enough_data) continue;
    (verdict == UnitVerdict::no_effect ? without : with_effect) += gains.samples_of_unit[i];
  }
  const auto of_all = [&](std::uint64_t count) { return percent(share_of(count, gains.samples)); };
  out.paragraph(
      fmt::format("Of {} samples {} % are in units with an effect, {} % in units without one, {} % "
                  "in units whose "
                  "effect is not certain. {} % have no unit: {} % in code that was not sped up, {} "
                  "% in code out "
                  "of scope.",
                  grouped(gains.samples), of_all(with_effect), of_all(without),
                  of_all(gains.not_certain), of_all(gains.not_in_profile + gains.out_of_scope),
                  of_all(gains.not_in_profile), of_all(gains.out_of_scope)));
}

std::string interval_words(const Interval& interval) {
  return fmt::format("{} [{}, {}]", number(interval.value, 2), number(interval.low, 2),
                     number(interval.high, 2));
}

}  // namespace

std::string render_gains_text(const Profile& profile, const Gains& gains, bool color, int width) {
  Text out(color, width);
  out.line("{}", out.colored(fmt::format("{}: {}", program_words(profile), sampling_words(profile)),
                             kBold));
  for (const std::string& note : gains.causal.notes) out.paragraph(printable(note));
  for (const std::string& line : time_and_notes(profile)) out.paragraph(line);
  write_coverage(gains, out);
  out.blank();
  out.line("{}",
           out.colored(fmt::format("Gain of {} for code that becomes faster on this path alone",
                                   printable(gains.causal.point)),
                       kBold));
  out.line("{}", out.colored(fmt::format("{:<21}{:<21}{:>7}  {:<{}}path", "gain [95 %]",
                                         "slope [95 %]", "share", "unit", kUnitColumn),
                             kDim));
  const ShortNames units = units_shown(gains);
  const ShortNames functions = functions_shown(gains);
  for (std::size_t i = 0; i < std::min(kMostGains, gains.paths.size()); ++i) {
    const Gain& each = gains.paths[i];
    const CausalUnit& unit = gains.causal.units[each.unit];
    const std::size_t used = kGainColumns + kUnitColumn;
    const std::size_t room = std::max<std::size_t>(12, out.width() > used ? out.width() - used : 0);
    const std::string gain = padded(interval_words(each.gain), 21);
    const std::string_view code = each.gain.low > 0 ? kGreen : each.gain.high < 0 ? kRed : kDim;
    out.line("{}{}{:>5} %  {}{}", out.colored(gain, code), padded(interval_words(*unit.slope), 21),
             percent(each.share.value),
             padded(units.fit(printable(unit.name), kUnitColumn - 2), kUnitColumn),
             path_words(each.path, functions, room));
  }
  if (gains.paths.size() > kMostGains) {
    out.line("… {} more: --format json", gains.paths.size() - kMostGains);
  }
  if (!profile.warnings.empty()) out.blank();
  for (const std::string& warning : profile.warnings) {
    out.paragraph("warning: " + printable(warning));
  }
  return out.take();
}

std::string render_gains_json(const Profile& profile, const Gains& gains) {
  const auto interval = [](const std::optional<Interval>& each) -> Json {
    if (!each) return nullptr;
    return {{"value", json_number(each->value)},
            {"low", json_number(each->low)},
            {"high", json_number(each->high)}};
  };
  Json json = {{"version", 1},
               {"kind", "callpath-gains"},
               {"program", profile.program},
               {"profiled", gains.causal.program},
               {"point", gains.causal.point},
               {"samples", gains.samples},
               {"not_certain", gains.not_certain},
               {"not_in_profile", gains.not_in_profile},
               {"out_of_scope", gains.out_of_scope}};
  json["units"] = Json::array();
  for (std::size_t i = 0; i < gains.causal.units.size(); ++i) {
    const CausalUnit& unit = gains.causal.units[i];
    json["units"].push_back({{"unit", unit.name},
                             {"function", unit.function},
                             {"file", unit.file},
                             {"line", unit.line},
                             {"verdict", name_of(unit.verdict)},
                             {"slope", interval(unit.slope)},
                             {"samples", gains.samples_of_unit[i]}});
  }
  json["paths"] = Json::array();
  for (const Gain& each : gains.paths) {
    json["paths"].push_back({{"unit", gains.causal.units[each.unit].name},
                             {"path", each.path},
                             {"samples", each.samples},
                             {"share", interval(each.share)},
                             {"gain", interval(each.gain)}});
  }
  json["notes"] = gains.causal.notes;
  for (const std::string& line : time_and_notes(profile)) json["notes"].push_back(line);
  json["warnings"] = profile.warnings;
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string render_gains_html(const Profile& profile, const std::vector<Charge>& charges,
                              const Gains& gains) {
  // The page's nodes are those by line (html.cc): of their own samples, how many are in a unit
  // whose slope is certain, and the sum of these slopes.
  Profile sums;
  sums.columns.resize(1);
  sums.frames = profile.frames;
  sums.nodes = profile.nodes;
  const Labels places = by_line(profile);
  std::size_t samples = 0;
  while (profile.columns[samples].name != "samples") ++samples;
  std::vector<std::vector<std::uint64_t>> of_unit;  // by unit and node of the page
  std::vector<double> slope_sum;
  std::vector<std::uint64_t> certain;
  for (std::size_t unit = 0; unit < gains.causal.units.size(); ++unit) {
    const CausalUnit& each = gains.causal.units[unit];
    if (!each.slope || each.verdict == UnitVerdict::not_enough_data) continue;
    sums.own = {std::vector<std::uint64_t>(profile.nodes.size())};
    for (std::size_t node = 0; node < charges.size(); ++node) {
      if (charges[node].unit == static_cast<std::int32_t>(unit)) {
        sums.own[0][node] = profile.own[samples][node];
      }
    }
    const std::vector<std::uint64_t> own = merged(sums, places).own[0];
    slope_sum.resize(own.size());
    certain.resize(own.size());
    for (std::size_t node = 0; node < own.size(); ++node) {
      certain[node] += own[node];
      slope_sum[node] += each.slope->value * static_cast<double>(own[node]);
    }
  }
  sums.own = {profile.own[samples]};
  const std::vector<std::uint64_t> all = merged(sums, places).own[0];
  std::string slopes;
  for (const double each : slope_sum)
    slopes += fmt::format("{}{:.4g}", slopes.empty() ? "" : ",", each);
  page::Page page =
      page_of(profile, fmt::format(",\n\"causal\":{{\"point\":{},\"samples\":[{}],\"certain\":[{}],"
                                   "\"slopes\":[{}]}}",
                                   quoted(printable(gains.causal.point)), fmt::join(all, ","),
                                   fmt::join(certain, ","), slopes));
  for (const std::string& note : gains.causal.notes) page.notes.push_back(note);
  page.facts.emplace_back(
      "causal profile", fmt::format("{}, progress: {}", gains.causal.program, gains.causal.point));
  return page::render(page);
}

}  // namespace causalctl::report::callpath
