#include "controller/progress/remarks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "controller/base/base_name.h"
#include "controller/base/clock.h"
#include "controller/progress/function_code.h"
#include "controller/progress/line_copies.h"
#include "controller/progress/line_remarks.h"
#include "controller/progress/loop_head.h"
#include "controller/progress/other_binaries.h"
#include "controller/progress/wrappers.h"
#include "unwind/names/function_name.h"

namespace causalctl::progress {
namespace {

using unwind::InlinedCalls;
using unwind::Place;

constexpr Nanoseconds kSearchFor = 400 * kMillisecond;  // for inlined copies, for each point
constexpr std::size_t kMostPlacesDecoded = 8;
constexpr std::size_t kLongestReload = 256;  // bytes, of the registers with Go's arguments

std::vector<std::string> short_places(const std::set<std::string>& places) {
  std::vector<std::string> names;
  for (const std::string& place : places) names.emplace_back(base_name(place));
  return names;
}

std::string advice(const std::string& line) {
  return line.empty() ? "name a line in it that runs once for each call"
                      : fmt::format(
                            "take {}, which stands in all copies that the debug "
                            "information of this binary has",
                            base_name(line));
}

// Returns the name without what libraries put before aliases of their own functions.
std::string_view without_prefix(std::string_view name) {
  for (const std::string_view prefix : {"_", "GI_", "libc_", "IO_", "pthread_"}) {
    if (name.starts_with(prefix) && name.size() > prefix.size()) {
      return without_prefix(name.substr(prefix.size()));
    }
  }
  return name;
}

bool is_alias(const std::string& name, const std::string& other) {
  return without_prefix(name) == without_prefix(other);
}

// A library's calls of a function that it exports are not inlined, as another file may replace it.
bool may_be_inlined(const Place& place, unwind::Symbolizer& symbolizer) {
  const auto module = symbolizer.module_at(place.address);
  return place.local || (module && module->main);
}

void add_inlined(const std::string& name, const std::string& written,
                 const std::vector<Place>& places, unwind::Symbolizer& symbolizer,
                 std::vector<std::string>& remarks) {
  const Nanoseconds until_ns = monotonic_now() + kSearchFor;
  std::set<std::string> calls;
  std::set<std::string> of_namesakes;
  std::set<std::string> lines;
  bool complete = true;
  bool known = true;
  for (const Place& place : places) {
    const InlinedCalls found = symbolizer.inlined_calls(place, written, until_ns);
    calls.insert(found.calls.begin(), found.calls.end());
    of_namesakes.insert(found.of_namesakes.begin(), found.of_namesakes.end());
    if (!is_thunk(place)) lines.insert(found.line);
    complete = complete && found.complete;
    known = known && (found.known || !may_be_inlined(place, symbolizer));
  }
  if (!calls.empty()) {
    remarks.push_back(fmt::format("{} is also inlined, at {}. Those calls are not counted: {}",
                                  name, few_of(short_places(calls)),
                                  advice(lines.size() == 1 ? *lines.begin() : std::string())));
  } else if (!known) {
    remarks.push_back(fmt::format(
        "{}: there is no debug information of inlined copies: calls that were inlined are not "
        "counted",
        name));
  } else if (!complete) {
    remarks.push_back(fmt::format(
        "{} may also be inlined, where its calls are not counted: the debug information is too "
        "large to tell. A line of it counts all copies",
        name));
  }
  if (!of_namesakes.empty()) {
    remarks.push_back(fmt::format(
        "another function that {} may mean is inlined, at {}. Those calls are not counted: take a "
        "line of it",
        name, few_of(short_places(of_namesakes))));
  }
}

void add_missing(const std::string& name, const std::vector<Place>& places, bool function,
                 unwind::Symbolizer& symbolizer, std::vector<std::string>& remarks) {
  for (const Place& place : places) {
    auto missing = symbolizer.missing_dwo(place.address, false);
    if (!missing && function) missing = symbolizer.missing_dwo(place.address, true);
    if (!missing) continue;
    const std::string source = missing->source.empty() ? "a unit" : missing->source;
    std::string text = fmt::format(
        "{}: the .dwo file of {} ({}) cannot be read, so inlined copies are unknown, and calls may "
        "be "
        "missing",
        name, source, missing->file);
    if (missing->package) {
      text += fmt::format(". A package (.dwp) of them cannot be read: put the .dwo files back");
    }
    remarks.push_back(std::move(text));
    return;
  }
}

bool is_header(const std::string& path) {
  static const std::set<std::string_view> kEndings = {"h",   "hh",  "hpp", "hxx", "h++", "H",
                                                      "inl", "inc", "ipp", "tcc", "tpp"};
  const std::string_view name = base_name(path);
  const auto dot = name.rfind('.');
  return dot != name.npos && kEndings.contains(name.substr(dot + 1));
}

// Code of a header may also be in files that were compiled without -g.
void add_undescribed(const Point& point, unwind::Symbolizer& symbolizer,
                     std::vector<std::string>& remarks) {
  for (const Place& place : point.places) {
    const std::string file =
        place.declared.empty() ? place.file : place.declared.substr(0, place.declared.rfind(':'));
    if (!is_header(file)) continue;
    const auto names = symbolizer.undescribed_functions(place.address);
    if (names.empty()) return;
    remarks.push_back(
        fmt::format("{} is of a header, and {} {} compiled without debug information: what was "
                    "inlined there is not counted",
                    point.name, few_of(names), names.size() == 1 ? "was" : "were"));
    return;
  }
}

void add_other_names(const std::string& name, const std::vector<Place>& places,
                     unwind::Symbolizer& symbolizer, std::vector<std::string>& remarks) {
  std::map<std::string, std::string> others;  // by name without prefix: the shortest
  for (const Place& place : places) {
    for (std::string& other : symbolizer.other_names(place)) {
      const bool own = std::any_of(places.begin(), places.end(), [&](const Place& each) {
        return each.function == other || each.symbol == other || is_alias(each.function, other) ||
               (each.chosen && other.starts_with(each.symbol + "."));
      });
      if (own) continue;
      std::string& shortest = others[std::string(without_prefix(other))];
      if (shortest.empty() || other.size() < shortest.size()) shortest = std::move(other);
    }
  }
  if (others.empty()) return;
  std::vector<std::string> names;
  for (auto& [key, other] : others) names.push_back(std::move(other));
  remarks.push_back(
      fmt::format("{} also counts calls of {}: they are one code at one address (aliases, or "
                  "folded by the linker)",
                  name, few_of(names)));
}

// Without debug information nothing says of which function a copy is.
void add_unproven_copies(const std::string& name, const std::vector<Place>& places,
                         std::vector<std::string>& remarks) {
  const bool unproven =
      places.size() > 1 && std::any_of(places.begin(), places.end(), [](auto& each) {
        return each.declared.empty() && each.file.empty();
      });
  if (!unproven) return;
  remarks.push_back(
      fmt::format("{} has {} entries by its symbols, all counted; without debug information they "
                  "may be of different functions",
                  name, places.size()));
}

// Go's functions ask for a longer stack before they do anything, and then begin anew.
bool grows_stack(const std::vector<disasm::Instruction>& code, const disasm::Instruction& jump,
                 unwind::Symbolizer& symbolizer) {
  for (const disasm::Instruction& each : code) {
    const bool is_call = each.flow == disasm::Flow::call && each.target;
    if (!is_call || each.address > jump.address) continue;
    if (jump.address - each.address > kLongestReload) continue;
    const auto frames = symbolizer.frames(*each.target);
    if (!frames.empty() && frames.back().function.starts_with("runtime.morestack")) return true;
  }
  return false;
}

// A loop without anything before it begins at the entry.
void add_entry_loop(const std::string& name, const std::vector<Place>& places, Pid target,
                    unwind::Symbolizer& symbolizer, std::vector<std::string>& remarks) {
  for (const Place& place : places) {
    const auto code = function_code(place.address, target, symbolizer);
    const auto jump = std::ranges::find_if(code, [&](const disasm::Instruction& each) {
      return disasm::jumps(each) && each.target == place.address;
    });
    if (jump == code.end()) continue;
    if (grows_stack(code, *jump, symbolizer)) {
      remarks.push_back(fmt::format(
          "{} is entered anew when Go's runtime has lengthened its stack or held it up, "
          "and each of these entries counts: take a line in it",
          name));
      return;
    }
    remarks.push_back(fmt::format(
        "{} begins with a loop (or calls itself by a jump), and each iteration counts as a visit: "
        "take a line after the loop, or one of its caller",
        name));
    return;
  }
}

// gcc gives the code of thunks the line of the class, also where it is a copy of the function's
// body.
void add_thunks(const Point& point, Pid target, unwind::Symbolizer& symbolizer,
                std::vector<std::string>& remarks) {
  std::map<std::string, Address> functions;
  for (const Place& place : point.places) {
    const auto frames = symbolizer.frames(place.address);
    if (!frames.empty()) functions.emplace(frames.back().function, place.address);
  }
  for (const auto& [function, address] : functions) {
    const auto module = symbolizer.module_at(address);
    if (!module || function.find("::") == std::string::npos) continue;  // no virtual function
    const auto entries = symbolizer.find_function(function, module->path);
    for (const Place& thunk : entries) {
      const auto range = symbolizer.function_range(thunk.address);
      if (!is_thunk(thunk) || !range) continue;
      const bool counted =
          std::any_of(point.places.begin(), point.places.end(), [&](const Place& each) {
            return range->first <= each.address && each.address < range->second;
          });
      if (counted || is_wrapper(thunk, entries, target, symbolizer)) continue;
      remarks.push_back(fmt::format(
          "{} has a copy without lines, for calls through another base class, which is not "
          "counted: take {}",
          point.name, unwind::without_arguments(function)));
      return;
    }
  }
}

}  // namespace

std::vector<std::string> remarks_on(const Point& point, Pid target,
                                    unwind::Symbolizer& symbolizer) {
  std::vector<std::string> remarks;
  const auto* function = std::get_if<FunctionSpec>(&point.spec);
  if (function != nullptr || std::holds_alternative<LineSpec>(point.spec)) {
    add_missing(point.name, point.places, function != nullptr, symbolizer, remarks);
    add_undescribed(point, symbolizer, remarks);
  }
  if (function != nullptr) {
    const bool is_part = function->name.find(".part.") != std::string::npos;
    if (!is_part) add_inlined(point.name, function->name, point.places, symbolizer, remarks);
    add_entry_loop(point.name, point.places, target, symbolizer, remarks);
    add_other_names(point.name, point.places, symbolizer, remarks);
    add_unproven_copies(point.name, point.places, remarks);
  } else if (std::holds_alternative<LineSpec>(point.spec)) {
    auto loop = loop_on_line(point.name, point.places, target, symbolizer);
    if (!loop) loop = counted_before_loop(point.name, point.places, target, symbolizer);
    if (loop) remarks.push_back(std::move(*loop));
    if (auto text = uncounted_copies(point.name, point.places, target, symbolizer)) {
      remarks.push_back(std::move(*text));
    }
    if (auto text = function_within(point.name, point.places)) remarks.push_back(std::move(*text));
    if (point.places.size() <= kMostPlacesDecoded) add_thunks(point, target, symbolizer, remarks);
  }
  add_other_binaries(point, symbolizer, remarks);
  return remarks;
}

std::string only_inlined(const std::string& function, unwind::Symbolizer& symbolizer) {
  const InlinedCalls found =
      symbolizer.inlined_calls("", function, "", monotonic_now() + kSearchFor);
  if (found.calls.empty()) {
    for (const unwind::Module& module : symbolizer.modules()) {
      const auto missing = module.main ? symbolizer.missing_dwo(module.start, true) : std::nullopt;
      if (missing) {
        return fmt::format(
            "no such function, but inlined ones are unknown: the .dwo file of {} ({}) is not found",
            missing->source, missing->file);
      }
    }
    return {};
  }
  return fmt::format("all its calls are inlined, at {}; {}",
                     few_of(short_places({found.calls.begin(), found.calls.end()})),
                     advice(found.line));
}

}  // namespace causalctl::progress
