#include "controller/progress/naming.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>

#include "controller/base/paths.h"
#include "unwind/names/names.h"

namespace causalctl::progress {
std::vector<std::string> shortest_unique_suffixes(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (const auto& path : paths) {
    const auto unique = [&](const std::string& suffix) {
      return std::none_of(paths.begin(), paths.end(), [&](const std::string& other) {
        return other != path && path_ends_with(other, suffix);
      });
    };
    std::string name = path;
    for (auto slash = path.rfind('/'); slash != std::string::npos; slash = path.rfind('/', slash)) {
      const auto suffix = path.substr(slash + 1);
      if (!suffix.empty() && unique(suffix)) {
        name = suffix;
        break;
      }
      if (slash-- == 0) break;
    }
    names.push_back(std::move(name));
  }
  return names;
}

std::vector<std::string> files_meant(std::vector<unwind::Place>& places, const std::string& file) {
  const auto exact = [&](const unwind::Place& place) { return place.file == file; };
  if (std::any_of(places.begin(), places.end(), exact)) std::erase_if(places, std::not_fn(exact));
  std::set<std::string> files;
  for (const auto& place : places) files.insert(place.file);
  return shortest_unique_suffixes({files.begin(), files.end()});
}

std::vector<unwind::Place> declared_in(const std::string& file,
                                       std::vector<unwind::Place> functions) {
  std::erase_if(functions, [&](const unwind::Place& each) {
    return !path_ends_with(each.declared.substr(0, each.declared.rfind(':')), file);
  });
  return functions;
}

bool are_in_several_units(const std::vector<unwind::Place>& functions) {
  std::set<std::uint64_t> units;
  for (const auto& each : functions) units.insert(each.unit);
  return units.size() > 1;
}

std::string nearest_clause(const std::vector<std::string>& names) {
  return names.empty() ? "" : fmt::format("; nearest: {}", fmt::join(names, ", "));
}

std::vector<std::string> in_shell_quotes(std::vector<std::string> names) {
  for (std::string& name : names) {
    if (name.find(" (inlined: ") == name.npos) name = in_shell_quotes(name);
  }
  return names;
}

}  // namespace causalctl::progress
