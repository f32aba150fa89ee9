#include "controller/symbols/scope.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "controller/base/base_name.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/paths.h"
#include "controller/symbols/library_files.h"
#include "controller/symbols/perf_map.h"
#include "unwind/names/names.h"

namespace causalctl::symbols {
namespace {

constexpr std::size_t kNearest = 3;

}  // namespace

bool module_matches(const unwind::Module& module, const std::string& glob) {
  return glob == "MAIN" ? module.main : path_matches(module.path, glob);
}

bool module_in_scope(const unwind::Module& module, const config::Scope& scope) {
  return std::any_of(scope.binaries.begin(), scope.binaries.end(),
                     [&](const std::string& glob) { return module_matches(module, glob); });
}

bool file_in_scope(const std::string& path, const config::Scope& scope, const std::string& module) {
  if (scope.files.empty()) return !is_generated(path) && library_of(path, module).empty();
  return std::any_of(scope.files.begin(), scope.files.end(),
                     [&](const std::string& glob) { return path_matches(path, glob); });
}

Wanted wanted_by(config::Scope scope) {
  return [scope = std::move(scope)](const unwind::Module& module) {
    return module_in_scope(module, scope);
  };
}

std::set<std::string> files_in_scope(const config::Scope& scope, unwind::Symbolizer& symbolizer) {
  std::set<std::string> files;
  for (const unwind::Module& module : symbolizer.modules()) {
    if (!module_in_scope(module, scope)) continue;
    const auto of_module = symbolizer.files(module.start);
    files.insert(of_module.begin(), of_module.end());
  }
  return files;
}

void check_scope(const config::Scope& scope, unwind::Symbolizer& symbolizer, bool suspended) {
  const auto modules = symbolizer.modules();
  std::vector<std::string> names;
  for (const unwind::Module& module : modules) names.emplace_back(base_name(module.path));
  std::vector<std::string> unmatched;
  for (const std::string& glob : scope.binaries) {
    // What the target compiles may come later.
    const bool matched = glob == kCompiledCode ||
                         std::any_of(modules.begin(), modules.end(), [&](const auto& module) {
                           return module_matches(module, glob);
                         });
    if (!matched) unmatched.push_back(glob);
  }
  const bool any = unmatched.size() < scope.binaries.size();
  for (const std::string& glob : unmatched) {
    auto near = unwind::nearest(glob, names, kNearest);
    if (near.empty()) near.assign(names.begin(), names.begin() + std::min(names.size(), kNearest));
    const std::string what =
        fmt::format("--scope-binary '{}' matches no binary that is loaded", glob);
    const std::string loaded = fmt::format("the nearest that are: {}", fmt::join(near, ", "));
    if (!any && !suspended) throw UsageError(what, loaded);
    log::note("warning: {}{}; {}", what, suspended ? " by now" : "", loaded);
  }
}

}  // namespace causalctl::symbols
