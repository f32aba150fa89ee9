#include "controller/session/cgroup_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <system_error>

#include "controller/base/base_name.h"
#include "controller/base/cgroup.h"
#include "controller/base/number.h"
#include "controller/base/paths.h"
#include "controller/base/procfs.h"
#include "controller/session/set_members.h"
#include "unwind/names/names.h"

namespace causalctl::session {
namespace {

constexpr std::string_view kUsualPlace = "/sys/fs/cgroup/";
constexpr std::string_view kSystemd = "name=systemd";
constexpr std::size_t kMostCgroups = 100'000;  // folders that one search looks at

// The kinds of units that have cgroups (systemd.unit(5)).
constexpr std::array<std::string_view, 6> kUnitSuffixes = {".service", ".scope", ".slice",
                                                           ".socket",  ".mount", ".swap"};
constexpr std::array<std::string_view, 5> kSuffixesWithoutCgroup = {".timer", ".target", ".path",
                                                                    ".device", ".automount"};

// The kernel writes white space and backslashes in a path as three octal digits (mangle_path()).
std::string without_escapes(std::string_view text) {
  constexpr std::size_t digits = 3;
  std::string path;
  while (!text.empty()) {
    const auto code = text.front() == '\\' && text.size() > digits
                          ? parse_number<unsigned char>(text.substr(1, digits), 8)
                          : std::nullopt;
    path += code ? static_cast<char>(*code) : text.front();
    text.remove_prefix(code ? digits + 1 : 1);
  }
  return path;
}

// Returns whether the path is `above`, or below it.
bool leads_below(std::string_view path, std::string_view above) {
  if (above == "/") return path.starts_with('/');
  return path.starts_with(above) && (path.size() == above.size() || path[above.size()] == '/');
}

// Returns `rest`, which begins with a slash or is empty, below the path `above`.
std::string joined(std::string_view above, std::string_view rest) {
  if (rest.empty() || rest == "/") return std::string(above);
  return above == "/" ? std::string(rest) : fmt::format("{}{}", above, rest);
}

std::string_view rest_below(std::string_view path, std::string_view above) {
  return above == "/" ? path : path.substr(above.size());
}

// Calls `use` with controllers and path of each line of /proc/PID/cgroup, until it returns true.
// Returns whether it has. A line is "hierarchy:controllers:path"; version 2 has no controllers.
bool any_line(std::string_view text,
              const std::function<bool(std::string_view controllers, std::string_view path)>& use) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto first = line.find(':');
    const auto second = first == line.npos ? first : line.find(':', first + 1);
    if (second == line.npos) continue;
    if (use(line.substr(first + 1, second - first - 1), line.substr(second + 1))) return true;
  }
  return false;
}

// Returns the part of the path before its first component that fulfils the glob, without a slash at
// its end; nullopt if none does.
std::optional<std::string> path_above(std::string_view path, const std::string& glob) {
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view component = path.substr(begin, end - begin);
    if (!component.empty() && is_named(component, glob)) {
      return std::string(path.substr(0, begin > 0 ? begin - 1 : 0));
    }
    begin = end + 1;
  }
  return std::nullopt;
}

// Whose systemd has made a cgroup. The one of the system has its units in slices, those of users
// have theirs in slices of user@UID.service.
enum class Manager : std::uint8_t { system, user, container };

Manager manager_of(const Cgroup& cgroup) {
  constexpr std::string_view slice = ".slice";
  Manager manager = Manager::system;
  std::string_view rest = rest_below(cgroup.path, cgroup.hierarchy.root);
  rest = rest.substr(0, rest.rfind('/'));
  while (!rest.empty()) {
    const std::string_view component = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(component.size() + 1, rest.size()));
    if (component.empty() || component.ends_with(slice)) continue;
    const bool is_users = component.starts_with("user@") && component.ends_with(".service");
    if (!is_users || manager != Manager::system) return Manager::container;
    manager = Manager::user;
  }
  return manager;
}

bool is_unit(std::string_view name) {
  return std::any_of(kUnitSuffixes.begin(), kUnitSuffixes.end(), [&](std::string_view suffix) {
    return name.size() > suffix.size() && name.ends_with(suffix);
  });
}

bool is_systemds(const CgroupHierarchy& hierarchy) {
  return hierarchy.is_version_2 || is_in_list(kSystemd, hierarchy.options);
}

// Calls `use` with each folder below `top`. It returns whether to look below that one. A folder
// that is removed meanwhile may be missing.
void each_folder_below(const std::string& top,
                       const std::function<bool(const std::string& folder)>& use) {
  namespace fs = std::filesystem;
  std::vector<std::string> to_visit = {top};
  for (std::size_t seen = 0; !to_visit.empty() && seen < kMostCgroups; ++seen) {
    std::error_code error;
    fs::directory_iterator at(to_visit.back(), error);
    to_visit.pop_back();
    for (; !error && at != fs::directory_iterator(); at.increment(error)) {
      std::error_code gone;
      if (at->is_symlink(gone) || !at->is_directory(gone)) continue;
      std::string folder = at->path().string();
      if (use(folder)) to_visit.push_back(std::move(folder));
    }
  }
}

void add_processes(const std::string& folder, std::set<Pid>& pids) {
  std::istringstream lines(procfs::read_text(folder + "/cgroup.procs").value_or(""));
  for (Pid pid = 0; lines >> pid;) {
    if (pid > 0) pids.insert(pid);
  }
}

}  // namespace

std::string Cgroup::folder() const {
  return joined(hierarchy.place, rest_below(path, hierarchy.root));
}

std::vector<CgroupHierarchy> parse_hierarchies(std::string_view mountinfo) {
  std::vector<CgroupHierarchy> found;
  std::istringstream lines{std::string(mountinfo)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words{line};
    std::string ignored, root, place, type, options;
    words >> ignored >> ignored >> ignored >> root >> place;
    while (words >> ignored && ignored != "-") {
    }
    words >> type >> ignored >> options;
    if (type != "cgroup" && type != "cgroup2") continue;
    found.push_back({without_escapes(place), without_escapes(root), options, type == "cgroup2"});
  }
  const auto rank = [](const CgroupHierarchy& each) {
    return each.is_version_2 ? 0 : is_systemds(each) ? 1 : 2;
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  return found;
}

namespace {

std::string tidy_path(std::string_view path, std::string_view folder) {
  std::string tidy = normal_path(path, folder);
  while (tidy.size() > 1 && tidy.ends_with('/')) tidy.pop_back();
  return tidy;
}

// Returns the hierarchy in which the absolute path lies, or a null pointer.
const CgroupHierarchy* hierarchy_of(std::string_view path,
                                    const std::vector<CgroupHierarchy>& hierarchies) {
  const CgroupHierarchy* best = nullptr;
  for (const CgroupHierarchy& each : hierarchies) {
    if (!leads_below(path, each.place)) continue;
    if (best == nullptr || each.place.size() > best->place.size()) best = &each;
  }
  return best;
}

}  // namespace

std::vector<Cgroup> cgroups_meant(std::string_view path,
                                  const std::vector<CgroupHierarchy>& hierarchies) {
  const bool is_absolute = path.starts_with('/');
  std::vector<Cgroup> meant;
  const std::string place = tidy_path(path, kUsualPlace);
  if (const CgroupHierarchy* in = hierarchy_of(place, hierarchies)) {
    meant.push_back({*in, joined(in->root, rest_below(place, in->place))});
    if (is_absolute) return meant;
  }
  const std::string whole = tidy_path(path, "/");
  for (const CgroupHierarchy& each : hierarchies) {
    const bool is_whole = is_absolute && leads_below(whole, each.root);
    Cgroup cgroup{each, is_whole ? whole : joined(each.root, whole)};
    if (std::find(meant.begin(), meant.end(), cgroup) == meant.end()) {
      meant.push_back(std::move(cgroup));
    }
  }
  return meant;
}

std::vector<Cgroup> cgroups_called(std::string_view path,
                                   const std::vector<CgroupHierarchy>& hierarchies) {
  const std::string named = tidy_path(path, kUsualPlace);
  std::error_code error;
  const std::string real = std::filesystem::canonical(named, error).string();
  const bool is_link = !error && real != named && hierarchy_of(real, hierarchies) != nullptr;
  return cgroups_meant(is_link ? real : path, hierarchies);
}

bool is_in_cgroup(std::string_view text, const Cgroup& cgroup) {
  return any_line(text, [&](std::string_view controllers, std::string_view path) {
    const std::string_view first = controllers.substr(0, controllers.find(','));
    const bool same = cgroup.hierarchy.is_version_2
                          ? first.empty()
                          : !first.empty() && is_in_list(first, cgroup.hierarchy.options);
    return same && leads_below(path, cgroup.path);
  });
}

bool is_in_unit(std::string_view text, const std::string& glob,
                const std::set<std::string>& parents) {
  return any_line(text, [&](std::string_view controllers, std::string_view path) {
    if (!controllers.empty() && controllers != kSystemd) return false;
    const auto above = path_above(path, glob);
    return above && parents.contains(*above);
  });
}

std::string unit_name(std::string_view unit) {
  return fmt::format("{}{}", unit, is_unit(unit) ? "" : kUnitSuffixes.front());
}

// systemd writes a hyphen that is none of its own as \x2d, whose backslash is no escape of a glob.
std::string unit_glob(std::string_view name) {
  std::string glob;
  for (const char c : name) {
    if (c == '\\') glob += c;
    glob += c;
  }
  const auto at = glob.find("@.");
  if (at != std::string::npos) glob.insert(at + 1, 1, '*');
  return glob;
}

bool is_unit_without_cgroup(std::string_view unit) {
  return std::any_of(kSuffixesWithoutCgroup.begin(), kSuffixesWithoutCgroup.end(),
                     [&](std::string_view suffix) { return unit.ends_with(suffix); });
}

std::vector<Cgroup> of_nearest_manager(std::vector<Cgroup> cgroups) {
  Manager nearest = Manager::container;
  for (const Cgroup& each : cgroups) nearest = std::min(nearest, manager_of(each));
  std::erase_if(cgroups, [&](const Cgroup& each) { return manager_of(each) != nearest; });
  return cgroups;
}

std::vector<std::string> paths_of_namesakes(const std::vector<Cgroup>& cgroups) {
  std::map<std::string, std::set<std::string>> paths;
  for (const Cgroup& each : cgroups) {
    paths[std::string(base_name(each.path))].insert(each.path);
  }
  std::set<std::string> namesakes;
  for (const auto& [name, those] : paths) {
    if (those.size() > 1) namesakes.insert(those.begin(), those.end());
  }
  return {namesakes.begin(), namesakes.end()};
}

std::vector<CgroupHierarchy> hierarchies() {
  return parse_hierarchies(procfs::read_text("/proc/self/mountinfo").value_or(""));
}

bool is_there(const Cgroup& cgroup) {
  std::error_code error;
  return leads_below(cgroup.path, cgroup.hierarchy.root) &&
         std::filesystem::exists(cgroup.folder() + "/cgroup.procs", error);
}

bool is_threaded(const Cgroup& cgroup) {
  return procfs::read_text(cgroup.folder() + "/cgroup.type").value_or("") == "threaded\n";
}

std::vector<Pid> processes_in(const std::vector<Cgroup>& cgroups) {
  std::set<Pid> pids;
  for (const Cgroup& cgroup : cgroups) {
    add_processes(cgroup.folder(), pids);
    each_folder_below(cgroup.folder(), [&](const std::string& folder) {
      add_processes(folder, pids);
      return true;
    });
  }
  return {pids.begin(), pids.end()};
}

std::vector<Cgroup> cgroups_of_unit(const std::string& glob) {
  std::vector<Cgroup> found;
  for (const CgroupHierarchy& each : hierarchies()) {
    if (!is_systemds(each)) continue;
    each_folder_below(each.place, [&](const std::string& folder) {
      if (!is_named(base_name(folder), glob)) return true;
      found.push_back({each, joined(each.root, rest_below(folder, each.place))});
      return false;
    });
  }
  return found;
}

std::vector<std::string> unit_names() {
  std::set<std::string> names;
  for (const CgroupHierarchy& each : hierarchies()) {
    if (!is_systemds(each)) continue;
    each_folder_below(each.place, [&](const std::string& folder) {
      const auto name = base_name(folder);
      if (is_unit(name)) names.emplace(name);
      return true;
    });
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> cgroup_paths_here() {
  std::set<std::string> paths;
  for (const CgroupHierarchy& each : hierarchies()) {
    each_folder_below(each.place, [&](const std::string& folder) {
      paths.insert(joined(each.root, rest_below(folder, each.place)));
      return true;
    });
  }
  return {paths.begin(), paths.end()};
}

}  // namespace causalctl::session
