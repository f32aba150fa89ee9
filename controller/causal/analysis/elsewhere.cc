#include "controller/causal/analysis/elsewhere.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/base/number.h"

namespace causalctl::causal {
namespace {

constexpr double kHalf = 0.5;
constexpr double kNearlyAll = 0.97;   // of the run's samples; a caller of everything has more
constexpr double kWorthNaming = 0.1;  // of all samples
constexpr std::size_t kMostNamed = 3;

// Functions that run once for each process or thread and are below every sample on the stack.
constexpr std::array<std::string_view, 8> kStartUp = {"_start",
                                                      "__libc_start_main",
                                                      "__libc_start_main_impl",
                                                      "start_thread",
                                                      "__libc_start_call_main",
                                                      "clone",
                                                      "__clone",
                                                      "clone3"};

std::vector<std::pair<std::string, std::uint64_t>> most_first(
    const std::map<std::string, std::uint64_t>& by_binary, std::uint64_t samples) {
  std::vector<std::pair<std::string, std::uint64_t>> all(by_binary.begin(), by_binary.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  const auto rare = std::find_if(all.begin(), all.end(), [&](const auto& each) {
    return share_of(each.second, samples) < kWorthNaming;
  });
  all.erase(rare, all.end());
  if (all.size() > kMostNamed) all.resize(kMostNamed);
  return all;
}

// "90 % of the samples are in libpython3.11.so.1.0 (--scope-binary 'libpython3.11*')"
std::string name(const std::string& binary, double part) {
  if (binary.empty()) {
    return fmt::format(
        "{:.0f} % of the samples are in code compiled at run time, which cannot be a unit",
        100 * part);
  }
  return fmt::format("{:.0f} % of the samples are in {}: --scope-binary '{}'", 100 * part, binary,
                     pattern_of(binary));
}

std::string scope_text(const config::Scope& scope) {
  std::string text = fmt::format("--scope-binary {}", fmt::join(scope.binaries, ", "));
  if (!scope.files.empty()) text += fmt::format(" --scope-file {}", fmt::join(scope.files, ", "));
  return text;
}

}  // namespace

bool is_everybodys_caller(const UnitSamples& samples, std::uint64_t all) {
  const std::string_view function = samples.unit.function;
  if (std::find(kStartUp.begin(), kStartUp.end(), function) != kStartUp.end()) return true;
  return function == "main" && samples.inherited == samples.count &&
         share_of(samples.count, all) >= kNearlyAll;
}

std::string pattern_of(const std::string& binary) {
  const auto so = binary.find(".so");
  if (so == std::string::npos || so == 0) return binary;
  return binary.substr(0, so) + "*";
}

std::optional<std::string> describe(const Elsewhere& elsewhere) {
  const bool by_default =
      elsewhere.scope.files.empty() && elsewhere.scope.binaries == std::vector<std::string>{"MAIN"};
  if (share_of(elsewhere.had, elsewhere.samples) >= kHalf) return std::nullopt;
  if (elsewhere.had > 0 && !by_default) return std::nullopt;
  std::string text;
  if (elsewhere.charged == 0) {
    text = fmt::format("none of {} samples has a frame in scope ({}); ", elsewhere.samples,
                       scope_text(elsewhere.scope));
  }
  if (!elsewhere.unmatched_files.empty()) return text + elsewhere.unmatched_files;
  std::vector<std::string> names;
  for (const auto& [binary, samples] : most_first(elsewhere.by_binary, elsewhere.samples)) {
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
