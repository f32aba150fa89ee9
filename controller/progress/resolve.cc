// Finds the places of a SPEC in one target, through the symbolizer. A point counts all addresses of
// the *same* line, function or probe (inlined and cloned copies). Different ones with one name are
// an error, which says how to name each.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/paths.h"
#include "controller/base/procfs.h"
#include "controller/progress/boundary.h"
#include "controller/progress/line_copies.h"
#include "controller/progress/naming.h"
#include "controller/progress/other_binaries.h"
#include "controller/progress/progress.h"
#include "controller/progress/remarks.h"
#include "controller/progress/syscalls.h"
#include "controller/progress/uprobe_address.h"
#include "controller/progress/usdt.h"
#include "controller/progress/wrappers.h"
#include "unwind/names/names.h"

namespace causalctl::progress {
namespace {

using unwind::Place;

constexpr std::size_t kSuggestions = 5;
constexpr std::size_t kMostListed = 10;

void require_few(const std::string& what, const std::vector<Place>& places);

class Resolver {
 public:
  Resolver(std::string text, Pid target, unwind::Symbolizer& symbolizer)
      : text_(std::move(text)), target_(target), symbolizer_(symbolizer) {}

  std::vector<Place> operator()(const LineSpec& spec);
  std::vector<Place> operator()(const SampledSpec& spec) { return line(spec.file, spec.line); }
  std::vector<Place> operator()(const FunctionSpec& spec);
  std::vector<Place> operator()(const OffsetSpec& spec);
  std::vector<Place> operator()(const UsdtSpec& spec);
  std::vector<Place> operator()(const SyscallSpec& spec);

 private:
  std::string what() const { return fmt::format("progress point '{}'", text_); }
  std::vector<Place> line(const std::string& file, int number);
  std::vector<std::string> matching_modules(const std::string& glob);
  std::string module_path(const Place& place);
  std::vector<Place> in_all_copies(const Place& place);
  std::string identity_of(const Place& place);
  void require_one_function(const std::vector<Place>& places, const FunctionSpec& wanted);
  [[noreturn]] void unknown(const std::string& why, const std::vector<std::string>& near);
  [[noreturn]] void ambiguous(const std::string& why, const std::vector<std::string>& names);

  std::string text_;
  Pid target_;
  unwind::Symbolizer& symbolizer_;
};

void Resolver::unknown(const std::string& why, const std::vector<std::string>& near) {
  const bool ends_with_us = std::ranges::count(procfs::descendants(getpid()), target_) > 0;
  throw UsageError(fmt::format("{}: {}{}", what(), why, nearest_clause(near)),
                   fmt::format("'causalctl points {}' lists what can be used while it runs",
                               ends_with_us ? "PID" : std::to_string(target_)));
}

void Resolver::ambiguous(const std::string& why, const std::vector<std::string>& names) {
  throw UsageError(fmt::format("{} is ambiguous: {}\n  {}", what(), why, fmt::join(names, "\n  ")),
                   "name one of them");
}

std::vector<Place> Resolver::line(const std::string& file, int number) {
  auto places = symbolizer_.find_line(file, number);
  if (places.empty()) {
    auto meant = spelled_right(text_);
    unknown("no code is at this line", meant
                                           ? std::vector{std::move(*meant)}
                                           : symbolizer_.similar_lines(file, number, kSuggestions));
  }
  std::vector<std::string> names = files_meant(places, file);
  if (names.size() > 1) {
    for (std::string& name : names) name += fmt::format(":{}", number);
    ambiguous("several files have this name", names);
  }
  return places;
}

std::vector<Place> Resolver::operator()(const LineSpec& spec) {
  auto places = line(spec.file, spec.line);
  add_copies(places, target_, symbolizer_);
  require_few(what(), places);
  for (const auto& place : places) require_boundary(what(), target_, place.address, symbolizer_);
  return places;
}

std::vector<std::string> Resolver::matching_modules(const std::string& glob) {
  std::vector<std::string> paths;
  std::vector<std::string> all;
  bool named = false;
  for (const auto& module : symbolizer_.modules()) {
    const auto file_name = std::filesystem::path(module.path).filename().string();
    all.push_back(file_name);
    const bool is_named = path_ends_with(module.path, glob);
    if (is_named && !named) paths.clear();
    named = named || is_named;
    if (is_named ||
        (!named && ((module.main && glob == "MAIN") || path_matches(module.path, glob)))) {
      paths.push_back(module.path);
    }
  }
  std::sort(paths.begin(), paths.end());  // a file may be loaded several times (dlmopen)
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  if (!paths.empty()) return paths;
  auto near = unwind::nearest(glob, all, kSuggestions);
  if (auto meant = spelled_right(text_)) near.insert(near.begin(), std::move(*meant));
  unknown(fmt::format("the target has no binary '{}'", glob), near);
}

std::string Resolver::module_path(const Place& place) {
  const auto module = symbolizer_.module_at(place.address);
  return module ? module->path : std::string();
}

std::vector<Place> Resolver::operator()(const FunctionSpec& spec) {
  auto places = symbolizer_.find_function(spec.name, spec.binary);
  if (places.empty() && !spec.binary.empty()) {  // FILE:FUNCTION, as reports name a static function
    places = declared_in(spec.binary, symbolizer_.find_function(spec.name, "*"));
  }
  if (places.empty()) {
    if (!spec.binary.empty()) matching_modules(spec.binary);
    if (const auto why = only_inlined(spec.name, symbolizer_); !why.empty()) unknown(why, {});
    unknown("no such function",
            in_shell_quotes(symbolizer_.similar_functions(spec.name, kSuggestions)));
  }
  if (spec.binary.empty()) {
    const auto why = another_library_has_it(spec.name, places, symbolizer_);
    if (!why.empty()) unknown(why, {});
  }
  drop_wrappers(places, target_, symbolizer_);
  require_one_function(places, spec);
  return places;
}

std::string Resolver::identity_of(const Place& place) {
  if (!place.declared.empty()) return fmt::format("{} {}", place.function, place.declared);
  if (!place.file.empty()) {
    return fmt::format("{} {}:{}", place.function, place.file, place.line);
  }
  return fmt::format("{} {}", place.symbol, module_path(place));
}

// Copies of one function (COMDAT, clones, a file that dlmopen has loaded twice) have one name and
// one line of source. Without debug information copies in one binary have one symbol, and other
// addresses are taken for other functions.
void Resolver::require_one_function(const std::vector<Place>& places, const FunctionSpec& wanted) {
  std::map<std::string, Place> functions;
  std::set<std::string> modules;
  std::set<std::string> versions;
  for (const auto& place : places) {
    if (!place.version.empty()) versions.insert(place.version);
  }
  for (const auto& place : places) modules.insert(module_path(place));
  const bool by_unit = modules.size() == 1 && are_in_several_units(places);
  for (const auto& place : places) {
    if (is_thunk(place) && places.size() > 1) continue;  // a thunk of another place
    std::string identity = identity_of(place) + (versions.size() > 1 ? place.version : "");
    if (by_unit) identity += fmt::format(" {}", place.unit);
    functions.emplace(std::move(identity), place);
  }
  if (functions.size() < 2) return;
  const std::vector<std::string> paths(modules.begin(), modules.end());
  const auto short_paths = shortest_unique_suffixes(paths);
  std::vector<std::string> names;
  for (const auto& [identity, place] : functions) {
    if (names.size() == kMostListed) break;
    const auto same = std::count_if(functions.begin(), functions.end(),
                                    [&, &called = place.function](const auto& other) {
                                      return other.second.function == called;
                                    });
    std::string spec;
    if (paths.size() == functions.size()) {  // the binary alone tells them apart
      const auto index = std::find(paths.begin(), paths.end(), module_path(place)) - paths.begin();
      spec = fmt::format("{}:{}", short_paths[static_cast<std::size_t>(index)], wanted.name);
    } else if (versions.size() == functions.size()) {
      spec = (wanted.binary.empty() ? "" : wanted.binary + ":") + wanted.name + place.version;
    } else if (same == 1 && paths.size() == 1) {
      spec = wanted.binary.empty() ? place.function : wanted.binary + ":" + place.function;
    } else {
      spec = name_by_offset(target_, place.address);
    }
    // The entry may have code that was inlined from another file.
    std::string source = place.declared.empty() ? "" : " at " + place.declared;
    if (source.empty() && !place.file.empty()) {
      source = fmt::format(" at {}:{}", place.file, place.line);
    }
    names.push_back(fmt::format("{}    ({}{})", in_shell_quotes(spec), place.function, source));
  }
  if (functions.size() > names.size()) {
    names.push_back(fmt::format("and {} more", functions.size() - names.size()));
  }
  ambiguous("different functions have this name", names);
}

std::vector<Place> Resolver::operator()(const OffsetSpec& spec) {
  const auto modules = matching_modules(spec.binary);
  if (modules.size() > 1) {
    std::vector<std::string> names;
    for (const auto& path : shortest_unique_suffixes(modules)) {
      names.push_back(fmt::format("{}+0x{:x}", path, spec.offset));
    }
    ambiguous("several binaries match", names);
  }
  const auto place = symbolizer_.find_offset(modules.front(), spec.offset);
  if (!place || !file_place(target_, place->address)) {
    unknown("the offset is outside of the binary's executable code", {});
  }
  require_boundary(what(), target_, place->address, symbolizer_);
  return in_all_copies(*place);
}

// Returns the same place in each loaded copy of its file.
std::vector<Place> Resolver::in_all_copies(const Place& place) {
  const auto module = symbolizer_.module_at(place.address);
  std::vector<Place> places;
  for (const auto& copy : symbolizer_.modules()) {
    if (!module || copy.path != module->path || copy.build_id != module->build_id) continue;
    places.push_back(place);
    places.back().address += copy.start - module->start;
  }
  return places;
}

std::vector<Place> Resolver::operator()(const UsdtSpec& spec) {
  std::vector<Place> places;
  std::vector<std::string> all;
  for (const auto& site : usdt_sites(target_)) {
    all.push_back(fmt::format("usdt:{}:{}", site.provider, site.name));
    if (site.provider != spec.provider || site.name != spec.name) continue;
    if (!file_place(target_, site.address)) continue;
    require_boundary(what(), target_, site.address, symbolizer_);
    Place place{site.address, {}, {}, 0};
    if (const auto frames = symbolizer_.frames(site.address); !frames.empty()) {
      place.function = frames.front().function;
      place.file = frames.front().file;
      place.line = frames.front().line;
    }
    places.push_back(std::move(place));
  }
  if (places.empty()) {
    auto near = unwind::nearest(text_, all, kSuggestions);
    if (near.empty()) near.assign(all.begin(), all.begin() + std::min(all.size(), kSuggestions));
    unknown(all.empty() ? "the target has no USDT probes" : "no such USDT probe", near);
  }
  return places;
}

std::vector<Place> Resolver::operator()(const SyscallSpec& spec) {
  const auto tracefs = tracefs_of_calls().path;
  if (!syscall_tracepoint(tracefs, spec.name)) {
    std::vector<std::string> near;
    for (const auto& name : unwind::nearest(spec.name, syscall_names(tracefs), kSuggestions)) {
      near.push_back("syscall:" + name);
    }
    unknown("the kernel has no such system call", near);
  }
  return {};
}

// If there are too many places, the message names the functions that contain most of them.
void require_few(const std::string& what, const std::vector<Place>& places) {
  if (places.size() <= kMostPlaces) return;
  std::map<std::string, std::size_t> by_function;
  for (const Place& place : places) {
    if (!place.function.empty()) ++by_function[place.function];
  }
  std::vector<std::pair<std::size_t, std::string>> most;
  for (const auto& [function, count] : by_function) most.emplace_back(count, function);
  std::sort(most.rbegin(), most.rend());
  std::string hint =
      "name a line or function that is passed once for each unit of work; most of the places are "
      "in:";
  for (std::size_t i = 0; i < std::min(most.size(), kSuggestions); ++i) {
    hint += fmt::format("\n    {} ({})", most[i].second, most[i].first);
  }
  throw UsageError(fmt::format("{}: compiled to {} places, and at most {} can be counted", what,
                               places.size(), kMostPlaces),
                   most.empty() ? "" : hint);
}

// The symbolizer read the mappings some time ago, and a program may have unloaded the file since.
// One of the two paths may lack an ending, " (deleted)".
FilePlace file_of(const std::string& point, Address address, Pid target,
                  unwind::Symbolizer& symbolizer) {
  const auto file = file_place(target, address);
  const auto module = symbolizer.module_at(address);
  if (!module || !module->path.starts_with('/')) return file.value_or(FilePlace{});
  if (file && (file->module.starts_with(module->path) || module->path.starts_with(file->module))) {
    return *file;
  }
  if (!file && !procfs::has_ended(target)) return {};  // moved to anonymous memory, or unreadable
  throw Error(fmt::format("progress point '{}': {} was unloaded while the point was looked for",
                          point, module->path),
              "try again, or name a point in a file that stays loaded");
}

// A function's name may look like another form: assemblers and objcopy allow "f:12" and "f+0x1".
bool is_function(const std::string& text, unwind::Symbolizer& symbolizer) {
  const bool odd = text.find_first_of(":+@") != std::string::npos ||
                   std::isdigit(static_cast<unsigned char>(text.front())) != 0;
  if (!odd) return false;
  const auto places = symbolizer.find_function(text, "");
  return std::any_of(places.begin(), places.end(),
                     [&](const Place& each) { return each.symbol == text; });
}

// Finds the places of the form that the text has or, if there are none, those of a function of this
// very name.
void find_places(Point& point, Pid target, unwind::Symbolizer& symbolizer) {
  Resolver resolver(point.name, target, symbolizer);
  try {
    point.spec = parse_spec(point.name);
    point.places = std::visit(resolver, point.spec);
  } catch (const UsageError&) {
    if (point.name.empty() || !is_function(point.name, symbolizer)) throw;
    point.spec = FunctionSpec{"", point.name};
    point.places = std::visit(resolver, point.spec);
  }
}

}  // namespace

Point resolve(const std::string& text, Pid target, unwind::Symbolizer& symbolizer) {
  Point point{text, {}, {}, {}};
  find_places(point, target, symbolizer);
  std::sort(point.places.begin(), point.places.end(),
            [](const Place& a, const Place& b) { return a.address < b.address; });
  const auto same = [](const Place& a, const Place& b) { return a.address == b.address; };
  point.places.erase(std::unique(point.places.begin(), point.places.end(), same),
                     point.places.end());
  if (std::holds_alternative<SampledSpec>(point.spec)) return point;
  point.remarks = remarks_on(point, target, symbolizer);
  for (const Place& place : point.places) {
    point.uprobe_addresses.push_back(uprobe_address(target, place.address, symbolizer));
    point.files.push_back(file_of(point.name, place.address, target, symbolizer));
  }
  return point;
}

namespace {

void refuse_same_places(const config::LatencyPoint& latency, const Point& begin, const Point& end) {
  const auto is_in_begin = [&](const unwind::Place& place) {
    return std::any_of(begin.places.begin(), begin.places.end(),
                       [&](const unwind::Place& each) { return each.address == place.address; });
  };
  if (std::none_of(end.places.begin(), end.places.end(), is_in_begin)) return;
  throw UsageError(fmt::format("latency {}: its begin and its end, {} and {}, are one place",
                               latency.name, latency.begin, latency.end),
                   "name two places that each piece of work passes one after the other");
}

}  // namespace

CountedPoints resolve_all(const config::Progress& progress, Pid target,
                          unwind::Symbolizer& symbolizer) {
  using Kind = CountedPoint::Kind;
  CountedPoints points;
  const auto add = [&](const std::string& spec, const std::string& name, Kind kind) {
    points.resolved.push_back(resolve(spec, target, symbolizer));
    points.counted.push_back({name, kind});
  };
  for (const std::string& spec : progress.throughput) add(spec, spec, Kind::throughput);
  for (const config::LatencyPoint& latency : progress.latency) {
    add(latency.begin, latency.name, Kind::begin);
    add(latency.end, latency.name, Kind::end);
    refuse_same_places(latency, *(points.resolved.end() - 2), points.resolved.back());
  }
  return points;
}

std::vector<std::pair<std::string, std::uint32_t>> sampled_points(const CountedPoints& points) {
  std::vector<std::pair<std::string, std::uint32_t>> sampled;
  for (std::uint32_t tag = 0; tag < points.resolved.size(); ++tag) {
    if (const auto* spec = std::get_if<SampledSpec>(&points.resolved[tag].spec)) {
      sampled.emplace_back(fmt::format("{}:{}", spec->file, spec->line), tag);
    }
  }
  return sampled;
}

}  // namespace causalctl::progress
