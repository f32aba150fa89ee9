#include "controller/progress/other_binaries.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <variant>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/progress/naming.h"
#include "controller/progress/remarks.h"
#include "unwind/names/demangle.h"
#include "unwind/names/function_name.h"

namespace causalctl::progress {
namespace {

using unwind::Module;
using unwind::Place;

constexpr std::size_t kMostNamed = 3;
constexpr Nanoseconds kSearchLibrariesFor =
    400 * kMillisecond;                    // for inlined copies, in all libraries
constexpr std::size_t kMostCompared = 64;  // places whose functions are compared

// Libraries of the system have none of the program's headers.
bool is_of_system(const std::string& path) {
  return path.starts_with("/usr/lib") || path.starts_with("/lib") || path.starts_with("[");
}

// Returns the binaries that have places, named as a SPEC can name them.
std::vector<std::string> binaries_of(const std::vector<Place>& places,
                                     unwind::Symbolizer& symbolizer, bool& in_executable) {
  std::set<std::string> paths;
  for (const Place& place : places) {
    const auto module = symbolizer.module_at(place.address);
    if (!module) continue;
    in_executable = in_executable || module->main;
    paths.insert(module->path);
  }
  return shortest_unique_suffixes({paths.begin(), paths.end()});
}

// A private function of another library that only has the same name is not meant. One that is
// exported may be: the linker binds a library's calls to it with -Bsymbolic, protected visibility
// or -fno-semantic-interposition, and the loader with RTLD_DEEPBIND.
bool is_meant(const Place& place, const Place& other) {
  if (!place.declared.empty() && place.declared == other.declared) return true;
  if (place.symbol != other.symbol) return false;
  return !other.local ||
         (unwind::is_mangled(place.symbol) && (place.declared.empty() || other.declared.empty()));
}

std::vector<Place> find_in(const std::string& path, const Point& point,
                           unwind::Symbolizer& symbolizer) {
  std::vector<Place> found;
  if (const auto* line = std::get_if<LineSpec>(&point.spec)) {
    found = symbolizer.find_line(line->file, line->line, path);
    std::erase_if(found, [&](const Place& each) { return each.file != point.places.front().file; });
    return found;
  }
  try {
    found = symbolizer.find_function(std::get<FunctionSpec>(point.spec).name, path);
  } catch (const UsageError&) {  // an indirect function
    return {};
  }
  std::erase_if(found, [&](const Place& each) {
    if (!each.local && !symbolizer.is_called_in_module(each)) return true;
    return std::none_of(point.places.begin(), point.places.end(),
                        [&](const Place& own) { return is_meant(own, each); });
  });
  return found;
}

// Adds the libraries that have what is counted in the executable.
void add_library_copies(const Point& point, unwind::Symbolizer& symbolizer,
                        std::vector<std::string>& remarks) {
  const auto* function = std::get_if<FunctionSpec>(&point.spec);
  const Nanoseconds until_ns = monotonic_now() + kSearchLibrariesFor;
  const std::string& declared = point.places.front().declared;
  std::set<std::string> with_code;
  std::set<std::string> with_copies;
  std::set<std::string> all;
  for (const Module& module : symbolizer.modules()) {
    if (module.main || is_of_system(module.path) || monotonic_now() > until_ns) continue;
    all.insert(module.path);
    if (!find_in(module.path, point, symbolizer).empty()) {
      with_code.insert(module.path);
    } else if (function != nullptr && !declared.empty() &&
               !symbolizer.inlined_calls(module.path, function->name, declared, until_ns)
                    .calls.empty()) {
      with_copies.insert(module.path);
    }
  }
  const auto names = shortest_unique_suffixes({all.begin(), all.end()});
  std::size_t i = 0;
  for (const std::string& path : all) {
    const std::string& name = names[i++];
    if (with_code.contains(path) && function != nullptr) {
      remarks.push_back(fmt::format("{} is also in {}, where it is not counted: add --progress {}",
                                    point.name, name,
                                    in_shell_quotes(name + ":" + function->name)));
    } else if (with_code.contains(path) || with_copies.contains(path)) {
      remarks.push_back(fmt::format("{} is also {} {}, where it is not counted", point.name,
                                    function != nullptr ? "inlined in" : "in", name));
    }
  }
}

// Places that have functions in common: inlined ones, or the outermost.
struct Related {
  std::set<std::string> functions;  // without template arguments
  std::string binary;
  std::uint64_t unit = 0;
};

Related related_to(const Place& place, unwind::Symbolizer& symbolizer) {
  Related related;
  for (const unwind::Frame& frame : symbolizer.frames(place.address)) {
    related.functions.insert(unwind::simple_name(frame.function));
  }
  if (const auto module = symbolizer.module_at(place.address)) related.binary = module->path;
  related.unit = place.unit;
  return related;
}

bool are_related(const Related& a, const Related& b) {
  if (a.binary == b.binary && a.unit != b.unit && a.unit != 0 && b.unit != 0) return false;
  return std::any_of(a.functions.begin(), a.functions.end(),
                     [&](const std::string& each) { return b.functions.contains(each); });
}

}  // namespace

std::vector<std::string> unrelated_functions(const std::vector<Place>& places,
                                             unwind::Symbolizer& symbolizer) {
  if (places.size() < 2 || places.size() > kMostCompared) return {};
  std::vector<Related> groups;  // with nothing in common
  std::vector<std::string> names;
  for (const Place& place : places) {
    Related related = related_to(place, symbolizer);
    const auto known = std::find_if(groups.begin(), groups.end(), [&](const Related& group) {
      return are_related(related, group);
    });
    if (known != groups.end()) {
      known->functions.merge(related.functions);
      continue;
    }
    const bool again = std::find(names.begin(), names.end(), place.function) != names.end();
    names.push_back(again ? "another " + place.function : place.function);
    groups.push_back(std::move(related));
  }
  return groups.size() < 2 ? std::vector<std::string>() : names;
}

std::string few_of(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), kMostNamed);
  const std::vector<std::string> first(names.begin(),
                                       names.begin() + static_cast<std::ptrdiff_t>(shown));
  const auto more = names.size() - shown;
  return fmt::format("{}{}", fmt::join(first, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : std::string());
}

void add_other_binaries(const Point& point, unwind::Symbolizer& symbolizer,
                        std::vector<std::string>& remarks) {
  const auto* function = std::get_if<FunctionSpec>(&point.spec);
  const bool is_line = std::holds_alternative<LineSpec>(point.spec);
  if (point.places.empty() || (function == nullptr && !is_line)) return;
  if (is_line) {
    const auto names = unrelated_functions(point.places, symbolizer);
    if (!names.empty()) {
      remarks.push_back(
          fmt::format("{} is in different functions, all counted: {}", point.name, few_of(names)));
    }
  }
  if (function != nullptr && !function->binary.empty()) return;
  bool in_executable = false;
  const auto binaries = binaries_of(point.places, symbolizer, in_executable);
  if (in_executable) {
    add_library_copies(point, symbolizer, remarks);
    return;
  }
  remarks.push_back(fmt::format("{} is in {}, not in the executable{}", point.name,
                                few_of(binaries),
                                binaries.size() > 1 ? ": all are counted as one point" : ""));
  const std::string inlined =
      function != nullptr ? only_inlined(function->name, symbolizer) : std::string();
  if (!inlined.empty() && !inlined.starts_with("no such")) {
    remarks.push_back(fmt::format("{} in the executable is not counted: {}", point.name, inlined));
  }
}

std::string another_library_has_it(const std::string& function, const std::vector<Place>& places,
                                   unwind::Symbolizer& symbolizer) {
  bool in_executable = false;
  const auto binaries = binaries_of(places, symbolizer, in_executable);
  const bool are_private =
      std::all_of(places.begin(), places.end(), [](const Place& each) { return each.local; });
  if (in_executable || !are_private || binaries.empty()) return {};
  const std::string inlined = only_inlined(function, symbolizer);
  if (inlined.empty() || inlined.starts_with("no such")) return {};
  return fmt::format("{}. Another function of this name is private to {}: {}", inlined,
                     binaries.front(), in_shell_quotes(binaries.front() + ":" + function));
}

}  // namespace causalctl::progress
