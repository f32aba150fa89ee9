// `causalctl points PID` lists what could serve as a progress point of this process, as SPECs to
// paste: its system calls and USDT probes by their rates, and the functions and lines in which two
// seconds of samples fall.
//
// Samples say where the time goes, not how often a function is called. A good progress point is
// passed once per unit of work, and only the user knows which one that is. So functions are ranked
// by the time spent in them *and in what they call*, which puts the loop over the work near the
// top. Lines are ranked by the time in them. Every SPEC that is printed has been resolved, and
// stands in the quotes that a shell needs, so it can be pasted.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/base_name.h"
#include "controller/base/duration.h"
#include "controller/base/error.h"
#include "controller/base/halt_text.h"
#include "controller/base/printable.h"
#include "controller/base/procfs.h"
#include "controller/causal/analysis/start_up.h"
#include "controller/commands/call_rates.h"
#include "controller/commands/commands.h"
#include "controller/commands/options.h"
#include "controller/commands/output.h"
#include "controller/progress/boundary.h"
#include "controller/progress/naming.h"
#include "controller/progress/progress.h"
#include "controller/report/text.h"
#include "controller/session/sampled_chains.h"
#include "controller/session/status_line.h"
#include "controller/session/target_end.h"
#include "controller/session/target_state.h"
#include "controller/symbols/call_chain.h"
#include "unwind/modules/obstacle.h"
#include "unwind/names/function_name.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::commands {
namespace {

constexpr Nanoseconds kSampling = 2 * kSecond;
constexpr Nanoseconds kPeriod = 4 * kMillisecond;
constexpr std::size_t kMostShown = 15;
constexpr std::size_t kMostTried = 60;  // most candidates tried that cannot be named

struct Function {
  std::string name;
  Address entry = 0;
  std::uint64_t own = 0;    // samples in the function
  std::uint64_t under = 0;  // samples in the function and in what it calls
};

struct Findings {
  std::uint64_t samples = 0;
  // By entry and name: a library may be loaded where another one was.
  std::map<std::pair<Address, std::string>, Function> functions;
  std::map<std::pair<std::string, int>, std::uint64_t> lines;  // samples by file and line
};

template <typename Counted>
bool by_samples(const Counted& a, const Counted& b) {
  return std::pair(a.under, a.own) > std::pair(b.under, b.own);
}

bool stands_at(const progress::Point& point, Address address) {
  return std::any_of(point.places.begin(), point.places.end(),
                     [&](const auto& each) { return each.address == address; });
}

void count_chain(const std::vector<Address>& chain, unwind::Symbolizer& symbolizer,
                 Findings& findings) {
  ++findings.samples;
  std::set<Address> seen;  // so that a recursive function counts once per sample
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const auto frames = symbolizer.frames(symbols::code_at(chain, i));
    if (frames.empty()) continue;
    if (i == 0 && frames.front().line > 0) {
      ++findings.lines[{frames.front().file, frames.front().line}];
    }
    const auto& physical = frames.back();
    if (physical.entry == 0 || !seen.insert(physical.entry).second) continue;
    auto& function = findings.functions[{physical.entry, physical.function}];
    function.name = physical.function;
    function.entry = physical.entry;
    ++function.under;
    if (i == 0) ++function.own;
  }
}

Findings sample(Pid target, unwind::Symbolizer& symbolizer, session::StatusLine& status) {
  Findings findings;
  session::ChainHooks hooks;
  hooks.take = [&](const std::vector<Address>& chain) { count_chain(chain, symbolizer, findings); };
  symbols::Following following(symbolizer);
  hooks.follower = &following;
  hooks.waits = [&] {
    status.show(fmt::format("sampling, reading debug information: {} samples", findings.samples));
  };
  session::sample_chains(target, {kSampling, kPeriod}, hooks);
  return findings;
}

class Namer {
 public:
  Namer(Pid target, unwind::Symbolizer& symbolizer) : target_(target), symbolizer_(symbolizer) {}

  // Returns a point that counts this function.
  std::optional<progress::Point> function(const Function& function) {
    const auto module = symbolizer_.module_at(function.entry);
    if (!module) return std::nullopt;
    const auto binary = base_name(module->path);
    const auto short_name = unwind::without_arguments(function.name);
    std::vector<std::string> candidates;
    for (const auto& name : {short_name, function.name}) {
      if (name.empty()) continue;
      if (module->main) candidates.push_back(name);
      candidates.push_back(fmt::format("{}:{}", binary, name));
    }
    candidates.push_back(progress::name_by_offset(target_, function.entry));
    for (const auto& spec : candidates) {
      auto point = resolved(spec);
      if (point && stands_at(*point, function.entry)) return point;
    }
    return std::nullopt;
  }

  // Returns the line with the shortest end of the path that is not ambiguous. Each try searches all
  // debug information, so a line that cannot be counted under any name is given up after the first
  // try.
  std::optional<progress::Point> line(const std::string& file, int line) {
    bool hopeful = false;
    for (auto slash = file.rfind('/');; slash = file.rfind('/', slash - 1)) {
      const bool whole = slash == std::string::npos || slash == 0;
      const auto spec = fmt::format("{}:{}", whole ? file : file.substr(slash + 1), line);
      if (auto point = resolved(spec)) return point;
      if (whole || (!hopeful && !can_be_counted(file, line))) return std::nullopt;
      hopeful = true;
    }
  }

 private:
  bool can_be_counted(const std::string& file, int line) {
    const auto places = symbolizer_.find_line(file, line);
    return !places.empty() && places.size() <= progress::kMostPlaces;
  }
  std::optional<progress::Point> resolved(const std::string& spec) {
    try {
      return progress::resolve(spec, target_, symbolizer_);
    } catch (const UsageError&) {
      return std::nullopt;
    }
  }
  Pid target_;
  unwind::Symbolizer& symbolizer_;
};

std::string places_text(const progress::Point& point) {
  if (point.places.size() < 2) return "";
  return fmt::format("  at {} places, all counted", point.places.size());
}

struct Candidate {
  progress::Point point;
  std::uint64_t own = 0;
  std::uint64_t under = 0;
};

// Returns points for the functions with the most samples. Copies of a function have one point, as
// those of a library that dlmopen has loaded twice.
std::vector<Candidate> candidates_of(const Findings& findings, Namer& namer,
                                     session::StatusLine& status) {
  std::vector<Function> ranked;
  for (const auto& [key, function] : findings.functions) ranked.push_back(function);
  std::stable_sort(ranked.begin(), ranked.end(), by_samples<Function>);
  ranked.resize(std::min(ranked.size(), kMostTried));
  std::vector<Candidate> candidates;
  for (const auto& function : ranked) {
    if (function.name == "main" || causal::is_start_up(function.name)) continue;
    const bool is_copy =
        std::any_of(candidates.begin(), candidates.end(),
                    [&](const Candidate& each) { return stands_at(each.point, function.entry); });
    if (is_copy) continue;
    status.show(fmt::format("looking where {} can be counted", function.name));
    auto point = namer.function(function);
    if (!point) continue;
    Candidate candidate;
    for (const auto& [key, each] : findings.functions) {
      if (each.name != function.name || !stands_at(*point, each.entry)) continue;
      candidate.own += each.own;
      candidate.under += each.under;
    }
    candidate.under = std::min(candidate.under, findings.samples);  // if copies call each other
    candidate.point = std::move(*point);
    candidates.push_back(std::move(candidate));
    if (candidates.size() == kMostShown) break;
  }
  std::stable_sort(candidates.begin(), candidates.end(), by_samples<Candidate>);
  return candidates;
}

std::string list_functions(const Findings& findings, Namer& namer, session::StatusLine& status) {
  std::string text =
      "\n# functions: time in them and in what they call, and in them alone "
      "(how often they are called is not known)\n";
  for (const Candidate& each : candidates_of(findings, namer, status)) {
    const auto percent = 100.0 / static_cast<double>(findings.samples);
    text += fmt::format("{:<48}  # {:5.1f} %  {:5.1f} %{}\n",
                        printable(progress::in_shell_quotes(each.point.name)),
                        percent * static_cast<double>(each.under),
                        percent * static_cast<double>(each.own), places_text(each.point));
  }
  return text;
}

std::string list_lines(const Findings& findings, Namer& namer, session::StatusLine& status) {
  std::vector<std::pair<std::uint64_t, std::pair<std::string, int>>> ranked;
  for (const auto& [line, samples] : findings.lines) ranked.emplace_back(samples, line);
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  ranked.resize(std::min(ranked.size(), kMostTried));
  std::string text = "\n# lines: time in them\n";
  std::size_t shown = 0;
  for (const auto& [samples, line] : ranked) {
    status.show(fmt::format("looking where {}:{} can be counted", line.first, line.second));
    const auto point = namer.line(line.first, line.second);
    if (!point) continue;
    if (point->places.size() > progress::kMostPlaces) continue;
    text +=
        fmt::format("{:<48}  # {:5.1f} %{}\n", printable(progress::in_shell_quotes(point->name)),
                    100.0 * static_cast<double>(samples) / static_cast<double>(findings.samples),
                    places_text(*point));
    if (++shown == kMostShown) break;
  }
  return text;
}

std::string rated_line(const Rated& rated) {
  return fmt::format("{:<48}  # {} a second\n", printable(progress::in_shell_quotes(rated.spec)),
                     report::three_digits(rated.per_second));
}

// `rates`: outputs first.
std::string list_calls(const std::vector<Rated>& rates, const std::string& obstacle) {
  constexpr std::size_t most_others = 8;
  std::string text = "\n# system calls that send or write something: one may be one unit of work\n";
  if (!obstacle.empty()) return text + fmt::format("# not counted: {}\n", printable(obstacle));
  const auto others = std::find_if_not(rates.begin(), rates.end(),
                                       [](const Rated& each) { return each.is_output; });
  for (auto each = rates.begin(); each != others; ++each) text += rated_line(*each);
  if (others == rates.begin()) text += "# none\n";
  if (others == rates.end()) return text;
  text += "\n# other system calls\n";
  const auto left = static_cast<std::size_t>(rates.end() - others);
  for (std::size_t i = 0; i < std::min(most_others, left); ++i) text += rated_line(others[i]);
  if (left > most_others) text += fmt::format("# {} more\n", left - most_others);
  return text;
}

// Writes SPECs, after `#` if they are many.
std::string list_specs(const std::vector<std::string>& specs) {
  constexpr std::size_t few = 10;
  std::string text;
  for (const std::string& spec : specs) {
    text += fmt::format("{}{}\n", specs.size() > few ? "#   " : "",
                        printable(progress::in_shell_quotes(spec)));
  }
  return text;
}

std::string list_probes(Pid target, unwind::Symbolizer& symbolizer) {
  const std::vector<progress::UsdtSpec> probes = progress::usdt_probes(target);
  if (probes.empty()) return "\n# USDT probes\n# none\n";
  const ProbeRates rates = rates_of_probes(target, symbolizer, probes);
  std::string text;
  if (!rates.fired.empty()) text += "\n# USDT probes that fire\n";
  for (const Rated& each : rates.fired) text += rated_line(each);
  if (!rates.silent.empty()) {
    text += fmt::format("\n# USDT probes that did not fire in {}\n", duration(rates.watched_ns)) +
            list_specs(rates.silent);
  }
  if (!rates.not_counted.empty()) {
    text += fmt::format("\n# USDT probes that were not counted: {}\n", printable(rates.obstacle)) +
            list_specs(rates.not_counted);
  }
  return text;
}

ExitCode run_points(Pid target) {
  session::require_program(target);
  session::StatusLine status(false);
  status.show(
      fmt::format("points of process {}: this takes a few seconds; Ctrl-C ends it", target));
  unwind::note_obstacle(target);
  unwind::Symbolizer symbolizer(target);
  CallRates calls(target);
  const Findings findings = sample(target, symbolizer, status);
  const std::vector<Rated> rates = calls.take();
  const auto print = [&status](const std::string& part) {
    status.clear();
    write_output("", part);
  };
  print(fmt::format("# Progress points for process {}: pass one with --progress. The best one is "
                    "passed once per unit of work, and less than some thousand times a second.\n",
                    target) +
        list_calls(rates, calls.obstacle()));
  status.show("counting USDT probes");
  print(list_probes(target, symbolizer));
  if (findings.samples == 0) {
    const session::TargetState state = session::state_of(target);
    const std::string halt = text_of_halt(state.stopped, state.frozen);
    print(fmt::format("\n# no functions or lines: {}\n",
                      halt.empty()
                          ? fmt::format("the process used no CPU time in {} s", kSampling / kSecond)
                          : halt));
    return ExitCode::ok;
  }
  Namer namer(target, symbolizer);
  print(list_functions(findings, namer, status));
  if (!findings.lines.empty()) print(list_lines(findings, namer, status));
  return ExitCode::ok;
}

}  // namespace

void add_points(CLI::App& app, Command& selected) {
  CLI::App& sub = add_subcommand(app, "points", "what could serve as a progress point");
  auto process = std::make_shared<std::string>();
  add_process(sub, *process, "the process", true);
  on_watching(sub, selected, [process] { return run_points(process_of(*process)); });
}

}  // namespace causalctl::commands
