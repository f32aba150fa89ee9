#include "controller/callpath/analysis/matching.h"

#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "controller/base/base_name.h"
#include "controller/base/telling_names.h"
#include "unwind/names/names.h"

namespace causalctl::callpath {
namespace {

// "libz.so.1.2.13" and "libz.so.1.3" are both "libz".
std::string_view without_version(std::string_view name) { return name.substr(0, name.find(".so")); }

// Finds paths by the file's name.
class Counterparts {
 public:
  void add(const std::string& path) {
    if (path.empty() || path.front() == '[' || !paths_.insert(path).second) return;
    add(std::string(base_name(path)), path);
    for (const std::string& ending : path_endings(path)) {
      const auto [entry, is_new] = by_ending_.emplace(ending, path);
      if (!is_new) entry->second.clear();  // several have it
    }
    const std::string_view name = base_name(path);
    if (without_version(name) != name) add(std::string(without_version(name)) + ".so*", path);
  }
  // Returns the path itself if there is none.
  std::string of(const std::string& path) const {
    if (paths_.contains(path)) return path;
    const std::string_view name = base_name(path);
    if (const std::string* found = find(std::string(name))) return *found;
    if (const std::string* found = nearest(path)) return *found;
    if (without_version(name) == name) return path;
    const std::string* found = find(std::string(without_version(name)) + ".so*");
    return found != nullptr ? *found : path;
  }

 private:
  void add(const std::string& name, const std::string& path) {
    const auto [entry, is_new] = by_name_.emplace(name, path);
    if (!is_new) entry->second.clear();  // several have it
  }
  const std::string* find(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() || found->second.empty() ? nullptr : &found->second;
  }

  // Returns the one that has the longest end in common, of at least a folder and a name.
  const std::string* nearest(const std::string& path) const {
    const std::vector<std::string> endings = path_endings(path);
    for (std::size_t i = endings.size(); i-- > 1;) {
      const auto found = by_ending_.find(endings[i]);
      if (found != by_ending_.end()) return found->second.empty() ? nullptr : &found->second;
    }
    return nullptr;
  }

  std::set<std::string> paths_;
  std::unordered_map<std::string, std::string> by_name_;    // empty: not the only one
  std::unordered_map<std::string, std::string> by_ending_;  // the same
};

void drop_deleted(std::vector<Recording>& runs) {
  for (Recording& run : runs) {
    for (Module& module : run.modules) module.path.resize(without_deleted(module.path).size());
  }
}

}  // namespace

void match_files(std::vector<Recording>& before, std::vector<Recording>& after) {
  drop_deleted(before);
  drop_deleted(after);
  Counterparts modules;
  Counterparts sources;
  std::set<std::string> executables;
  for (const Recording& run : after) {
    if (!run.executable.empty()) executables.insert(run.executable);
    for (const Module& module : run.modules) modules.add(module.path);
    for (const Location& location : run.locations) {
      for (const SourceFrame& frame : location.frames) {
        sources.add(frame.file);
        sources.add(frame.home);
      }
    }
  }
  for (Recording& run : before) {
    for (Module& module : run.modules) {
      const bool is_executable = module.path == run.executable && executables.size() == 1;
      module.path = is_executable ? *executables.begin() : modules.of(module.path);
    }
    for (Location& location : run.locations) {
      for (SourceFrame& frame : location.frames) {
        frame.file = sources.of(frame.file);
        frame.home = sources.of(frame.home);
      }
    }
  }
}

}  // namespace causalctl::callpath
