#include "controller/progress/line_copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "controller/progress/function_code.h"
#include "disasm/decoder.h"

namespace causalctl::progress {
namespace {

using unwind::Place;

constexpr std::size_t kMostInRun = 1024;        // instructions that are looked at
constexpr std::size_t kRegisterOperations = 4;  // of one kind and column, are copies

struct Event {
  int column = 0;
  bool is_call = false;
  Address callee = 0;
  auto operator<=>(const Event&) const = default;
};

// Code of the line from a beginning to code of another line, or to the next beginning.
struct Run {
  Address start = 0;
  std::set<Event> events;
  bool repeats = false;  // one of the source's operations is in it several times
  bool is_vector = false;
};

// Returns whether the instruction computes several numbers at once.
bool is_vector(std::string_view name) {
  if (name.starts_with('v')) name.remove_prefix(1);
  for (const std::string_view prefix : {"padd", "psub", "pmul", "pmadd", "pmax", "pmin", "pabs"}) {
    if (name.starts_with(prefix)) return true;
  }
  if (!name.ends_with("ps") && !name.ends_with("pd")) return false;
  for (const std::string_view prefix : {"add", "sub", "mul", "div", "max", "min", "sqrt", "fm"}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

bool is_comparison_or_jump(std::string_view name) {
  return name.starts_with('j') || name.starts_with("cmp") || name == "test" ||
         name.starts_with("set");
}

class Function {
 public:
  Function(const Place& place, Pid target, unwind::Symbolizer& symbolizer)
      : code_(function_code(place.address, target, symbolizer)),
        place_(place),
        symbolizer_(symbolizer) {
    for (const disasm::Instruction& each : code_) {
      if (disasm::jumps(each) && each.target) targets_.insert(*each.target);
    }
  }

  bool holds(Address address) const { return disasm::is_within(code_, address); }

  Run run(Address start, const std::set<Address>& starts) const {
    Run run;
    run.start = start;
    std::map<std::tuple<int, std::string, Address>, std::size_t> operations;
    std::size_t left = kMostInRun;
    for (const disasm::Instruction& each : from(start)) {
      if (left-- == 0) break;
      if (each.address > start && starts.contains(each.address)) break;
      const auto column = own_column(each.address);
      if (!column) break;
      if (*column < 0) continue;
      const bool leaves = each.flow == disasm::Flow::jump && each.target && !holds(*each.target);
      const bool is_call = each.flow == disasm::Flow::call || leaves;
      const Address callee = is_call ? each.target.value_or(0) : 0;
      const bool writes = disasm::writes_memory(each) && !disasm::is_in_frame(each.operands()[0]);
      if (is_call || writes) run.events.insert({*column, is_call, callee});
      run.is_vector = run.is_vector || is_vector(each.mnemonic);
      if (!is_call && (disasm::is_move(each) || is_comparison_or_jump(each.mnemonic))) continue;
      auto& count = operations[{*column, each.mnemonic, callee}];
      ++count;
      const bool certain = is_call ? callee != 0 : disasm::has_memory(each);
      run.repeats = run.repeats || count >= (certain ? 2 : kRegisterOperations);
    }
    return run;
  }

  // Returns whether what runs from `first` always comes to `second` and nothing else leads there.
  bool in_one_block(Address first, Address second) const {
    for (const disasm::Instruction& each : from(first)) {
      if (each.address >= second) break;
      if (!disasm::continues(each) || each.flow == disasm::Flow::branch) return false;
      if (targets_.contains(each.next())) return false;
    }
    return true;
  }

  int column(Address address) const { return own_column(address).value_or(-1); }

 private:
  // Returns the code from an instruction on.
  std::span<const disasm::Instruction> from(Address address) const {
    const auto index = disasm::index_at(code_, address);
    return index ? std::span(code_).subspan(*index) : std::span<const disasm::Instruction>();
  }

  // Returns -1 for code of the compiler, and of what was inlined from the line; nullopt for code of
  // another line.
  std::optional<int> own_column(Address address) const {
    const auto frames = symbolizer_.frames(address);
    if (frames.empty() || frames.front().line == 0) return -1;
    const auto of_line =
        std::find_if(frames.begin(), frames.end(), [&](const unwind::Frame& frame) {
          return frame.line == place_.line && frame.file == place_.file;
        });
    if (of_line == frames.end()) return std::nullopt;
    return of_line == frames.begin() ? frames.front().column : -1;
  }

  std::vector<disasm::Instruction> code_;
  std::set<Address> targets_;  // of jumps
  Place place_;
  unwind::Symbolizer& symbolizer_;
};

// Returns the runs, where one that does nothing and leads to the next one is a part of that.
std::vector<Run> runs_of(const Place& place, const Function& function) {
  std::set<Address> starts(place.returns.begin(), place.returns.end());
  starts.insert(place.address);
  std::vector<Run> runs;
  for (const Address start : starts) {
    if (!function.holds(start)) continue;
    Run run = function.run(start, starts);
    const bool follows = !runs.empty() && function.in_one_block(runs.back().start, start);
    if (follows && run.events.empty()) continue;
    if (follows && runs.back().events.empty()) {
      run.start = runs.back().start;
      runs.pop_back();
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

bool share_one(const std::set<Event>& a, const std::set<Event>& b) {
  return std::any_of(a.begin(), a.end(), [&](const Event& event) { return b.contains(event); });
}

bool has_call(const std::set<Event>& events) {
  return std::any_of(events.begin(), events.end(), [](const Event& each) { return each.is_call; });
}

// Without columns, operations of one line cannot be told apart.
bool has_columns(const std::set<Event>& events) {
  return std::all_of(events.begin(), events.end(),
                     [](const Event& each) { return each.column > 0; });
}

// Sorts the returns of the place into copies and those that may be.
void sort_returns(Place& place, const Function& function, std::vector<Place>& copies) {
  const auto runs = runs_of(place, function);
  place.returns.clear();
  if (runs.empty() || runs.front().start != place.address) return;
  const Run& first = runs.front();
  Address counted = first.start;
  for (const Run& run : runs) {
    if (run.start == first.start) continue;
    const bool same = run.events == first.events && !run.events.empty();
    const bool one_block = function.in_one_block(counted, run.start);
    if (one_block && !has_columns(first.events)) continue;
    if (same && has_columns(run.events) && (has_call(run.events) || !one_block)) {
      Place copy = place;
      copy.address = counted = run.start;
      copy.returns.clear();
      copies.push_back(std::move(copy));
      continue;
    }
    const bool both_empty = run.events.empty() && first.events.empty() &&
                            function.column(run.start) == function.column(first.start);
    if (both_empty || share_one(run.events, first.events)) place.returns.push_back(run.start);
  }
}

}  // namespace

void add_copies(std::vector<Place>& places, Pid target, unwind::Symbolizer& symbolizer) {
  std::vector<Place> copies;
  for (Place& place : places) {
    if (place.returns.empty()) continue;
    sort_returns(place, Function(place, target, symbolizer), copies);
  }
  places.insert(places.end(), copies.begin(), copies.end());
}

std::optional<std::string> uncounted_copies(const std::string& name,
                                            const std::vector<Place>& places, Pid target,
                                            unwind::Symbolizer& symbolizer) {
  std::set<Address> starts;
  std::size_t returns = 0;
  for (const Place& place : places) {
    starts.insert(place.address);
    returns += place.returns.size();
  }
  if (returns > 0) {
    return fmt::format(
        "the compiler may have copied {} (a loop unrolled or unswitched): {} more {} of its code "
        "{} "
        "not counted, so the count may be a part of the executions",
        name, returns, returns == 1 ? "place" : "places", returns == 1 ? "is" : "are");
  }
  std::list<Function> functions;
  for (const Place& place : places) {
    auto function = std::find_if(functions.begin(), functions.end(),
                                 [&](const auto& each) { return each.holds(place.address); });
    if (function == functions.end()) {
      if (functions.size() == kMostDecodedFunctions) break;
      function = functions.emplace(functions.end(), place, target, symbolizer);
    }
    const Run run = function->run(place.address, starts);
    if (!run.is_vector && !run.repeats) continue;
    return fmt::format(
        "{} is compiled to code that may do several iterations of a loop in one pass ({}): each "
        "pass "
        "is counted once",
        name, run.is_vector ? "vectorised" : "unrolled");
  }
  return std::nullopt;
}

}  // namespace causalctl::progress
