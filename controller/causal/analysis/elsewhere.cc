#include "controller/causal/analysis/elsewhere.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "controller/base/number.h"
#include "controller/base/shell_quotes.h"
#include "controller/base/uprobe_page.h"
#include "controller/causal/analysis/estimate_totals.h"
#include "controller/causal/analysis/start_up.h"

namespace causalctl::causal {
namespace {

constexpr double kHalf = 0.5;
constexpr double kNearlyAll = 0.97;       // of the run's samples; a caller of everything has more
constexpr double kHardlyAny = 0.01;       // of a unit's samples: its own, where it only calls
constexpr double kWorthNaming = 0.1;      // of all samples
constexpr double kCostOfCounting = 0.02;  // of all samples
constexpr std::size_t kMostNamed = 3;
constexpr std::uint64_t kEnoughToTell = 50;  // samples that show which code runs

constexpr const char* kWithoutMap =
    ", which has no names without a perf map (node --perf-basic-prof; jcmd PID Compiler.perfmap)";

using Places = std::map<std::string, std::uint64_t>;

std::vector<std::pair<std::string, std::uint64_t>> most_first(const Places& places,
                                                              std::uint64_t samples) {
  std::vector<std::pair<std::string, std::uint64_t>> all(places.begin(), places.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  const auto rare = std::find_if(all.begin(), all.end(), [&](const auto& each) {
    return share_of(each.second, samples) < kWorthNaming;
  });
  all.erase(rare, all.end());
  if (all.size() > kMostNamed) all.resize(kMostNamed);
  return all;
}

bool is_directory(const std::string& place) { return place.ends_with('/'); }

// "server: code without symbols and unwind tables" is in scope already.
bool is_described(const std::string& place) { return place.find(": ") != std::string::npos; }

// Returns the option that takes the place into the scope; empty if none does.
std::string option_of(const std::string& place) {
  if (place.empty() || place == kUprobePage || is_described(place)) return "";
  if (!is_directory(place)) return "--scope-binary " + in_single_quotes(pattern_of(place));
  // The directory of Rust's library has a hash in its name.
  return "--scope-file " +
         in_single_quotes(place.starts_with("/rustc/") ? "/rustc/*" : place + "*");
}

std::string described(const std::string& place) {
  if (place.empty()) return "code compiled at run time";
  if (place == kUprobePage) return "the kernel's page for uprobes, a cost of counting";
  return is_directory(place) ? "files of " + place : place;
}

// "90 % of the samples are in libpython3.11.so.1.0: --scope-binary 'libpython3.11*'"
std::string name(const std::string& place, double part) {
  const std::string option = option_of(place);
  std::string what = option.empty() ? "" : ": " + option;
  if (place.empty()) what = kWithoutMap;
  return fmt::format("{:.0f} % of the samples are in {}{}", 100 * part, described(place), what);
}

double share_in(const Elsewhere& elsewhere, const std::string& place) {
  const auto found = elsewhere.by_place.find(place);
  return found == elsewhere.by_place.end() ? 0 : share_of(found->second, elsewhere.samples);
}

std::string scope_text(const config::Scope& scope) {
  std::string text = fmt::format("--scope-binary {}", fmt::join(scope.binaries, ", "));
  if (!scope.files.empty()) text += fmt::format(" --scope-file {}", fmt::join(scope.files, ", "));
  return text;
}

}  // namespace

bool is_everybodys_caller(const UnitSamples& samples, std::uint64_t all) {
  if (is_start_up(samples)) return true;
  if (share_of(samples.count, all) < kNearlyAll) return false;
  if (samples.unit.function == "main" && samples.inherited == samples.count) return true;
  return share_of(samples.inherited, samples.count) >= 1 - kHardlyAny &&
         share_of(samples.by_one_call, samples.count) >= kNearlyAll;
}

std::string pattern_of(const std::string& binary) {
  const auto so = binary.find(".so");
  if (so == std::string::npos || so == 0) return binary;
  return binary.substr(0, so) + "*";
}

void add(std::vector<PlaceSamples>& all, const std::vector<PlaceSamples>& run) {
  for (const PlaceSamples& samples : run) {
    const auto same = std::find_if(all.begin(), all.end(), [&](const PlaceSamples& known) {
      return known.place == samples.place;
    });
    if (same == all.end()) {
      all.push_back(samples);
    } else {
      same->count += samples.count;
      same->unclaimed += samples.unclaimed;
      same->cut_off += samples.cut_off;
    }
  }
}

Elsewhere elsewhere_of(const std::vector<Run>& runs) {
  Elsewhere sum;
  for (const Run& run : runs) {
    const std::uint64_t samples = samples_of(run);
    std::uint64_t known = run.losses.samples_unknown;  // others still waited for debug information
    for (const UnitSamples& unit : run.samples) {
      known += unit.count;
      sum.charged += unit.count;
      if (!is_everybodys_caller(unit, samples)) sum.had += unit.count;
    }
    sum.samples += std::min(samples, known);
    for (const PlaceSamples& place : run.elsewhere) {
      sum.by_place[place.place] += place.count;
      if (place.unclaimed > 0) sum.unclaimed[place.place] += place.unclaimed;
      if (place.cut_off > 0) sum.cut_off[place.place] += place.cut_off;
    }
  }
  return sum;
}

report::InScope in_scope(const Elsewhere& elsewhere) {
  report::InScope told;
  told.share = share_of(elsewhere.had, elsewhere.samples);
  for (const auto& [place, samples] : most_first(elsewhere.by_place, elsewhere.samples)) {
    const auto unclaimed = elsewhere.unclaimed.find(place);
    told.elsewhere.push_back({place, share_of(samples, elsewhere.samples),
                              unclaimed == elsewhere.unclaimed.end()
                                  ? 0
                                  : share_of(unclaimed->second, elsewhere.samples),
                              option_of(place)});
  }
  const bool enough = elsewhere.samples >= kEnoughToTell && !told.elsewhere.empty();
  if (const auto text = describe(elsewhere); enough && text) told.lead = *text;
  return told;
}

std::vector<std::string> unclaimed_places(const Elsewhere& elsewhere) {
  std::vector<std::string> texts;
  if (elsewhere.samples < kEnoughToTell) return texts;
  if (const double share = share_in(elsewhere, kUprobePage); share >= kCostOfCounting) {
    texts.push_back(
        fmt::format("{:.0f} % of the samples are in the kernel's page for uprobes, which is a cost "
                    "of counting; they belong to no code. Choose a point that is passed less often",
                    100 * share));
  }
  if (const double share = share_in(elsewhere, ""); share >= kWorthNaming && !describe(elsewhere)) {
    texts.push_back(fmt::format("{}; its callers, where they are in scope, get these samples",
                                name("", share)));
  }
  Places unclaimed = elsewhere.unclaimed;
  for (const auto& [place, samples] : most_first(elsewhere.cut_off, elsewhere.samples)) {
    unclaimed[place] -= std::min(samples, unclaimed[place]);
  }
  for (const auto& [place, samples] : most_first(unclaimed, elsewhere.samples)) {
    if (place == kUprobePage) continue;
    if (place.empty() && !describe(elsewhere)) continue;  // told above
    const bool of_go = place == "runtime/" || place.ends_with("/src/runtime/");
    texts.push_back(fmt::format(
        "{:.0f} % of the samples are in {}, and no caller of them is in scope{}",
        100 * share_of(samples, elsewhere.samples), described(place),
        of_go ? ": Go's runtime works for itself there, as when it collects garbage" : ""));
  }
  return texts;
}

std::optional<std::string> describe(const Elsewhere& elsewhere) {
  if (share_of(elsewhere.had, elsewhere.samples) >= kHalf) return std::nullopt;
  if (elsewhere.had > 0 && !elsewhere.scope.is_default()) return std::nullopt;
  std::string text;
  if (elsewhere.charged == 0) {
    text = fmt::format("none of {} samples has a frame in scope ({}); ", elsewhere.samples,
                       scope_text(elsewhere.scope));
  }
  if (!elsewhere.unmatched_files.empty()) return text + elsewhere.unmatched_files;
  std::vector<std::string> names;
  for (const auto& [binary, samples] : most_first(elsewhere.by_place, elsewhere.samples)) {
    names.push_back(name(binary, share_of(samples, elsewhere.samples)));
  }
  if (names.empty()) names.emplace_back("causalctl points PID tells where the time goes");
  return text + fmt::format("{}", fmt::join(names, "; "));
}

std::vector<std::string> describe(const WithoutTables& found) {
  std::vector<std::string> texts;
  for (const auto& [binary, samples] : most_first(found.cut_off, found.samples)) {
    texts.push_back(fmt::format(
        "{:.0f} % of the samples belong to nobody: they are in {}, and no table tells who called "
        "it; {}",
        100 * share_of(samples, found.samples),
        binary.empty() ? "code compiled at run time" : binary,
        binary.empty() ? "sample an interpreter or a build without the compiler"
                       : "install its debug package, or build it with "
                         "-fasynchronous-unwind-tables or -fno-omit-frame-pointer"));
  }
  for (const auto& [binary, samples] : most_first(found.nameless, found.samples)) {
    texts.push_back(
        fmt::format("{:.0f} % of the samples are in code of {} that has no function table: install "
                    "its debug package, or use a build that is not stripped",
                    100 * share_of(samples, found.samples), binary));
  }
  return texts;
}

}  // namespace causalctl::causal
