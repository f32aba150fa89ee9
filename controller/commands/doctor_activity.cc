// Samples a process for half a second to tell where it spends its time, and so whether a profile
// with the default scope would find any unit.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "config/config.h"
#include "controller/base/base_name.h"
#include "controller/base/number.h"
#include "controller/base/printable.h"
#include "controller/causal/engine/unit_of.h"
#include "controller/commands/doctor_checks.h"
#include "controller/session/sampled_chains.h"
#include "controller/symbols/call_chain.h"
#include "controller/symbols/scope.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::commands {
namespace {

constexpr Nanoseconds kSamplingTime = 500 * kMillisecond;
constexpr Nanoseconds kSamplingPeriod = 2 * kMillisecond;
constexpr std::size_t kMostSamples = 1000;  // a limit, because each one is unwound
constexpr std::size_t kMostNamed = 3;
constexpr double kEnough = 0.5;    // a share of samples in scope that is enough for a profile
constexpr double kNothing = 0.01;  // a smaller share counts as none
constexpr double kLauncher =
    0.9;  // of those in scope, by one place that calls: a profile has one unit

std::vector<std::vector<Address>> sample(Pid target) {
  std::vector<std::vector<Address>> chains;
  session::ChainHooks hooks;
  hooks.take = [&chains](std::vector<Address> chain) { chains.push_back(std::move(chain)); };
  session::sample_chains(target, {kSamplingTime, kSamplingPeriod, kMostSamples}, hooks);
  return chains;
}

class DefaultScope {
 public:
  explicit DefaultScope(unwind::Symbolizer& symbolizer) : symbolizer_(symbolizer) {}

  bool has(Address address) {
    const auto [known, is_new] = known_.emplace(address, false);
    if (!is_new) return known->second;
    symbols::Location location{.address = address, .module = {}};
    symbols::locate(location, symbolizer_, wanted_);
    known->second = causal::unit_of(location, scope_).has_value();
    return known->second;
  }

 private:
  unwind::Symbolizer& symbolizer_;
  config::Scope scope_;
  symbols::Wanted wanted_ = symbols::wanted_by(scope_);
  std::unordered_map<Address, bool> known_;
};

std::uint64_t sum_of(const std::map<std::string, std::uint64_t>& files) {
  std::uint64_t sum = 0;
  for (const auto& [file, count] : files) sum += count;
  return sum;
}

// Returns the files with their samples, the one with most samples first.
std::vector<std::pair<std::uint64_t, std::string>> ranked(
    const std::map<std::string, std::uint64_t>& files) {
  std::vector<std::pair<std::uint64_t, std::string>> most;
  for (const auto& [file, count] : files) most.emplace_back(count, file);
  std::sort(most.rbegin(), most.rend());
  if (most.size() > kMostNamed) most.resize(kMostNamed);
  return most;
}

std::string name_elsewhere(const std::string& file) {
  return file.empty() ? "code in no file (compiled at run time)" : file;
}

}  // namespace

Activity sample_activity(Pid target) {
  const auto chains = sample(target);
  unwind::Symbolizer symbolizer(target);
  DefaultScope scope(symbolizer);
  Activity activity;
  std::map<Address, std::map<std::string, std::uint64_t>> called;  // by the calling place
  const auto file_of = [&symbolizer](Address address) {
    const auto module = symbolizer.module_at(address);
    return module ? std::string(base_name(module->path)) : "";
  };
  for (const std::vector<Address>& chain : chains) {
    if (chain.empty()) continue;
    ++activity.samples;
    std::size_t caller = 0;
    while (caller < chain.size() && !scope.has(symbols::code_at(chain, caller))) ++caller;
    if (caller == chain.size()) {
      ++activity.elsewhere[file_of(chain.front())];
      continue;
    }
    ++activity.in_scope;
    if (caller > 0) ++called[symbols::code_at(chain, caller)][file_of(chain.front())];
  }
  for (const auto& [place, files] : called) {
    const std::uint64_t all = sum_of(files);
    if (all <= activity.called_from_one_place) continue;
    activity.called_from_one_place = all;
    activity.called = files;
  }
  return activity;
}

Check check_activity(const Activity& activity, std::string& option) {
  option.clear();
  Check check{"activity", Verdict::limited, "", "", false};
  if (activity.samples == 0) {
    check.finding = "it does not run now: no sample in half a second";
    check.remedy = "a profile needs a busy process: give it work, and try again";
    return check;
  }
  const double in_scope = share_of(activity.in_scope, activity.samples);
  check.finding = fmt::format("{:.0f} % of {} samples are in the executable or what it calls",
                              100 * in_scope, activity.samples);
  if (share_of(activity.called_from_one_place, activity.in_scope) >= kLauncher) {
    auto files = activity.called;
    for (const auto& [file, count] : activity.elsewhere) files[file] += count;
    const auto [count, file] = ranked(files).front();
    check.finding += fmt::format(", nearly all from one place in it: {:.0f} % are in {}",
                                 100 * share_of(count, activity.samples), name_elsewhere(file));
    check.remedy = "a profile of the executable has one unit only";
    if (!file.empty()) check.remedy += fmt::format(": --scope-binary '{}' has others", file);
    return check;
  }
  if (in_scope >= kEnough) {
    check.verdict = Verdict::ok;
    return check;
  }
  const auto most = ranked(activity.elsewhere);
  for (const auto& [count, file] : most) {
    check.finding += fmt::format(", {:.0f} % in {}", 100 * share_of(count, activity.samples),
                                 name_elsewhere(file));
  }
  const bool nothing = in_scope < kNothing;
  const std::string& file = most.front().second;
  if (!file.empty()) {
    const std::string scope = fmt::format("--scope-binary '{}'", file);
    check.remedy = "choose the code to profile with " + scope;
    if (nothing) option = scope;
  } else {
    check.remedy = "code that is compiled at run time has no names, so it cannot be profiled";
    check.required = nothing;
    if (nothing) check.verdict = Verdict::missing;
  }
  return check;
}

}  // namespace causalctl::commands
