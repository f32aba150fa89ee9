#include "controller/causal/experiments/early_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/causal/analysis/elsewhere.h"
#include "controller/causal/engine/unit_of.h"
#include "controller/progress/other_binaries.h"
#include "controller/symbols/scope.h"

namespace causalctl::causal {
namespace {

constexpr Nanoseconds kPollEvery = 250 * kMillisecond;
constexpr Nanoseconds kAskAfter = 3 * kSecond;  // when the symbolizer is asked, which takes a while
constexpr Nanoseconds kSayAfter = 5 * kSecond;  // when a point without visits is named
constexpr Nanoseconds kSayAtLast = 8 * kSecond;  // … even if not all reasons are known
constexpr std::uint64_t kEnoughToTell = 50;      // samples that show which code runs
constexpr std::uint64_t kManyMore = 200;         // samples needed if some are in scope
constexpr std::uint64_t kWorthAName = 40;        // a unit with one of that many samples
constexpr std::size_t kMostPlaces = 2;           // most inlined calls that are named
constexpr std::size_t kMostNear = 3;             // most files that are named

// Libraries' names for one function of their own differ in what is put before them.
std::string_view without_underscores(std::string_view name) {
  const auto first = name.find_first_not_of('_');
  return first == name.npos ? name : name.substr(first);
}

// Returns the warning that the unit's code has other names, which the samples cannot tell apart.
std::optional<std::string> other_names(const Unit& unit, unwind::Symbolizer& symbolizer) {
  std::set<std::string> names;
  for (const unwind::Place& place : symbolizer.find_function(unit.function, unit.module)) {
    if (place.function != unit.function || place.chosen) continue;
    for (std::string& name : symbolizer.other_names(place)) {
      const bool alias = without_underscores(name) == without_underscores(unit.function);
      if (!alias) names.insert(std::move(name));
    }
  }
  if (names.empty()) return std::nullopt;
  const std::string shown = *names.begin();
  return fmt::format(
      "{} ({}) is also the code of {}{}: the linker or the compiler made one of them, and samples "
      "do "
      "not tell which one runs",
      unit.name, unit.function, shown,
      names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : "");
}

// Returns the warning that the unit's line is in functions that have nothing in common, as of two
// source files that have one path in the debug information.
std::optional<std::string> other_functions(const Unit& unit, unwind::Symbolizer& symbolizer) {
  if (!unit.is_line) return std::nullopt;
  auto places = symbolizer.find_line(unit.file, unit.line, "*");
  std::erase_if(places, [&](const unwind::Place& each) { return each.file != unit.file; });
  const auto names = progress::unrelated_functions(places, symbolizer);
  if (names.empty()) return std::nullopt;
  return fmt::format(
      "{} is in different functions: {}. Its samples and effects are those of all of them",
      unit.name, progress::few_of(names));
}

}  // namespace

EarlyFindings::EarlyFindings(const EngineParts& parts, const Engine& engine,
                             const config::Scope& scope, Visits visits)
    : parts_(parts), engine_(engine), scope_(scope), visits_(visits) {
  std::vector<std::vector<CodeRange>> codes;
  for (const PointCode& code : parts.point_codes) codes.push_back(code.functions);
  parts_.attribution.watch(std::move(codes));
}

void EarlyFindings::begin(Nanoseconds now_ns) {
  begun_ns_ = polled_ns_ = now_ns;
  earlier_use_ = later_use_ = {now_ns, engine_.cpu_time_ns()};
}

bool EarlyFindings::any_silent() const {
  for (std::uint32_t tag = 0; tag < parts_.point_codes.size(); ++tag) {
    if (is_silent(tag)) return true;
  }
  return false;
}

void EarlyFindings::poll() {
  const Nanoseconds now_ns = parts_.clock.now();
  if (now_ns - polled_ns_ < kPollEvery) return;
  polled_ns_ = now_ns;
  remember_use(now_ns);
  const Nanoseconds passed_ns = now_ns - begun_ns_;
  if (!inlined_asked_ && passed_ns >= kAskAfter && any_silent()) ask_where_inlined();
  if (!names_asked_ && passed_ns >= kAskAfter) ask_for_other_names();
  if (!silence_said_ && passed_ns >= kSayAfter) say_what_is_silent(passed_ns);
  if (!elsewhere_said_) say_what_is_elsewhere();
}

void EarlyFindings::remember_use(Nanoseconds now_ns) {
  if (now_ns - begun_ns_ < 2 * (later_use_.at_ns - begun_ns_)) return;
  earlier_use_ = later_use_;
  later_use_ = {now_ns, engine_.cpu_time_ns()};
}

void EarlyFindings::ask_where_inlined() {
  inlined_asked_ = true;
  std::vector<PointCode> silent = parts_.point_codes;
  for (std::uint32_t tag = 0; tag < silent.size(); ++tag) {
    if (!is_silent(tag) || silent[tag].kind != PointCode::Kind::function) silent[tag] = {};
  }
  parts_.attribution.ask_later([asked = asked_, silent](unwind::Symbolizer& symbolizer) {
    std::vector<std::vector<std::string>> found(silent.size());
    for (std::size_t tag = 0; tag < silent.size(); ++tag) {
      if (silent[tag].functions.empty()) continue;
      found[tag] = symbolizer.inlined_at(silent[tag].functions.front().start, silent[tag].function,
                                         kMostPlaces);
    }
    const std::lock_guard lock(asked->mutex);
    asked->inlined_at = std::move(found);
    asked->inlined_known = true;
  });
}

Silence EarlyFindings::silence_of(std::uint32_t tag) {
  const auto& point = parts_.counters.points()[tag];
  Silence silence;
  silence.point = point.name;
  using Kind = progress::CountedPoint::Kind;
  if (point.kind == Kind::begin) silence.point += " (begin)";
  if (point.kind == Kind::end) silence.point += " (end)";
  silence.code = parts_.point_codes[tag];
  const Nanoseconds now_ns = parts_.clock.now();
  silence.watched_ns = now_ns - begun_ns_;
  if (parts_.target_state) silence.target = parts_.target_state();
  silence.cpu_ns = engine_.cpu_time_ns();
  silence.lately_ns = now_ns - earlier_use_.at_ns;
  silence.lately_cpu_ns = silence.cpu_ns - earlier_use_.cpu_ns;
  silence.samples = parts_.attribution.total();
  silence.in_function = parts_.attribution.seen_in(tag);
  if (!std::exchange(stacks_read_, true)) stacks_ = parts_.attribution.latest_stacks();
  silence.stacks = stacks_.size();
  silence.on_stack = static_cast<std::uint64_t>(std::count_if(
      stacks_.begin(), stacks_.end(),
      [&](const std::vector<Address>& chain) { return on_chain(chain, silence.code.functions); }));
  const std::lock_guard lock(asked_->mutex);
  if (tag < asked_->inlined_at.size()) silence.inlined_at = asked_->inlined_at[tag];
  return silence;
}

void EarlyFindings::say_what_is_silent(Nanoseconds passed_ns) {
  {
    const std::lock_guard lock(asked_->mutex);
    if (inlined_asked_ && !asked_->inlined_known && passed_ns < kSayAtLast) return;
  }
  silence_said_ = true;
  for (const std::string& text : silences()) log::note("warning: {}", text);
}

std::vector<std::string> EarlyFindings::silences() {
  std::vector<std::string> texts;
  for (std::uint32_t tag = 0; tag < parts_.point_codes.size(); ++tag) {
    if (!is_silent(tag)) continue;
    const Silence silence = silence_of(tag);
    if (visits_ == Visits::throughout) {
      texts.push_back(describe(silence));
    } else if (auto text = describe_unended(silence)) {
      texts.push_back(std::move(*text));
    }
  }
  return texts;
}

// Functions that compile to the same code may have been folded into one.
void EarlyFindings::ask_for_other_names() {
  names_asked_ = true;
  std::vector<Unit> units;
  for (const UnitSamples& each : parts_.attribution.samples()) {
    const bool hot = each.count * kWorthAName >= parts_.attribution.total();
    if (hot && !each.unit.function.empty() && !each.unit.module.empty()) {
      units.push_back(each.unit);
    }
  }
  parts_.attribution.ask_later([asked = asked_, units](unwind::Symbolizer& symbolizer) {
    std::vector<std::string> texts;
    for (const Unit& unit : units) {
      try {
        if (auto text = other_names(unit, symbolizer)) texts.push_back(std::move(*text));
        if (auto text = other_functions(unit, symbolizer)) texts.push_back(std::move(*text));
      } catch (const Error&) {  // an indirect function that has no version yet
      }
    }
    const std::lock_guard lock(asked->mutex);
    asked->folded = std::move(texts);
  });
}

// Lists all source files of the binaries in scope.
void EarlyFindings::ask_for_files() {
  files_asked_ = true;
  if (scope_.files.empty()) return;
  parts_.attribution.ask_later([asked = asked_, scope = scope_](unwind::Symbolizer& symbolizer) {
    std::string text =
        unmatched_files(scope, symbols::files_in_scope(scope, symbolizer), kMostNear);
    const std::lock_guard lock(asked->mutex);
    asked->unmatched_files = std::move(text);
  });
}

std::optional<std::string> EarlyFindings::elsewhere(const std::vector<UnitSamples>& samples) const {
  Elsewhere found;
  found.scope = scope_;
  found.samples = parts_.attribution.total() - parts_.attribution.pending();
  for (const UnitSamples& unit : samples) {
    found.charged += unit.count;
    if (!is_everybodys_caller(unit, found.samples)) found.had += unit.count;
  }
  found.by_place = parts_.attribution.elsewhere();
  const std::lock_guard lock(asked_->mutex);
  if (found.had == 0) found.unmatched_files = asked_->unmatched_files;
  return describe(found);
}

void EarlyFindings::say_what_is_elsewhere() {
  const auto& attribution = parts_.attribution;
  // Samples that wait for debug information may still be in scope.
  const bool known = parts_.attribution.lines() && attribution.total() >= kEnoughToTell &&
                     2 * attribution.pending() < attribution.total();
  if (!known) return;
  if (!files_asked_) return ask_for_files();  // the next poll says it
  if (attribution.total() >= kManyMore) elsewhere_said_ = true;
  const std::vector<UnitSamples> samples = attribution.samples();
  if (!samples.empty() && attribution.total() < kManyMore) return;
  if (const auto text = elsewhere(samples)) {
    elsewhere_said_ = true;
    log::note("warning: {}", *text);
  }
}

std::vector<std::string> EarlyFindings::at_the_end(const std::vector<UnitSamples>& samples) {
  std::vector<std::string> warnings = silences();
  Attribution& attribution = parts_.attribution;
  const auto lines = attribution.lines();
  if (attribution.total() < kEnoughToTell || !lines) return warnings;
  if (!lines->unused_map.empty()) warnings.push_back(lines->unused_map);
  WithoutTables tables{attribution.total(), attribution.cut_off_in(), {}};
  // Of the default scope the report itself tells where samples are, also those in nameless code.
  if (!scope_.is_default()) {
    if (auto text = elsewhere(samples)) warnings.push_back(std::move(*text));
    tables.nameless = attribution.nameless_in();
  }
  for (std::string& text : describe(tables)) warnings.push_back(std::move(text));
  const std::lock_guard lock(asked_->mutex);
  warnings.insert(warnings.end(), asked_->folded.begin(), asked_->folded.end());
  return warnings;
}

}  // namespace causalctl::causal
