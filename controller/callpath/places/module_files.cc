#include "controller/callpath/places/module_files.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "unwind/modules/vdso.h"

namespace causalctl::callpath {
namespace {

constexpr std::size_t kMostOpen = 128;
constexpr std::size_t kLeastOpen = 8;
constexpr std::size_t kShareOfLimit = 8;  // one in so many of the descriptors that we may have
constexpr double kLeastNameless = 0.01;   // of the samples; less is not told

std::size_t most_open_of_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kLeastOpen;
  return std::clamp<std::size_t>(limit.rlim_cur / kShareOfLimit, kLeastOpen, kMostOpen);
}

bool are_too_many_open(const unwind::ModuleFile& file) {
  return !file.fd && (file.error == EMFILE || file.error == ENFILE);
}

bool is_nameless(const Location& location) {
  return location.frames.empty() || location.frames.front().function.empty();
}

std::string why_not_opened(int error) {
  const std::string hint =
      error == EMFILE ? "; let causalctl have more of them (ulimit -n)" : std::string();
  return std::strerror(error) + hint;
}

}  // namespace

ModuleFiles::ModuleFiles() : most_open_(most_open_of_limit()) {}

ModuleFiles::Identity ModuleFiles::identity_of(const unwind::ModuleFile& file) {
  struct stat status {};
  if (::fstat(file.fd.get(), &status) != 0) return {};
  return {status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec,
          status.st_mtim.tv_nsec};
}

unwind::ModuleFile ModuleFiles::open(Pid target, const unwind::MappedFile& file) {
  unwind::ModuleFile opened = unwind::open_module_file(target, file);
  if (!are_too_many_open(opened)) return opened;
  {
    const std::lock_guard lock(mutex_);
    close_all_but(0);
  }
  return unwind::open_module_file(target, file);
}

void ModuleFiles::add(unwind::ModuleFile file, const std::string& path) {
  const std::lock_guard lock(mutex_);
  Kept kept;
  kept.path = path;
  kept.error = file.error;
  kept.was_open = static_cast<bool>(file.fd);
  if (kept.was_open) kept.identity = identity_of(file);
  all_.push_back(std::move(kept));
  keep(static_cast<std::uint32_t>(all_.size() - 1), std::move(file));
}

// The vdso, a copy of which is in memory, stays open.
void ModuleFiles::keep(std::uint32_t module, unwind::ModuleFile file) {
  Kept& kept = all_[module];
  const bool counts = file.fd && kept.path != unwind::kVdso;
  kept.file = std::make_shared<const unwind::ModuleFile>(std::move(file));
  if (!counts) return;
  close_all_but(most_open_ - 1);
  open_.push_back(module);
}

// Who has asked for a file keeps it open until then.
void ModuleFiles::close_all_but(std::size_t count) {
  while (open_.size() > count) {
    File& file = all_[open_.front()].file;
    auto closed = std::make_shared<unwind::ModuleFile>();
    closed->path = file->path;
    closed->build_id = file->build_id;
    closed->segments = file->segments;
    file = std::move(closed);
    open_.pop_front();
  }
}

ModuleFiles::File ModuleFiles::get(std::uint32_t module) {
  const std::lock_guard lock(mutex_);
  Kept& kept = all_.at(module);
  if (const auto place = std::find(open_.begin(), open_.end(), module); place != open_.end()) {
    open_.erase(place);
    open_.push_back(module);
  }
  if (kept.file->fd || !kept.was_open) return kept.file;
  // The first leads through the target, which may have ended.
  for (const std::string& path : {kept.file->path, kept.path}) {
    unwind::ModuleFile again = unwind::open_module_file(path);
    if (are_too_many_open(again)) {
      close_all_but(0);
      again = unwind::open_module_file(path);
    }
    kept.error = again.fd ? 0 : again.error;
    if (!again.fd || identity_of(again) != kept.identity) continue;
    again.path = kept.file->path;
    keep(module, std::move(again));
    break;
  }
  return kept.file;
}

void ModuleFiles::warn(Recording& recording) const {
  struct Nameless {
    std::uint64_t samples = 0;
    std::set<std::uint32_t> modules;
  };
  const std::lock_guard lock(mutex_);
  std::map<int, Nameless> by_error;
  std::uint64_t all = 0;
  for (const auto& [key, slice] : recording.slices) {
    if (key.metric != Metric::samples) continue;
    for (const auto& [node, value] : slice) {
      all += value;
      if (node == kRoot) continue;
      const Location& location = recording.locations[recording.tree.node(node).location];
      const int error = location.module < all_.size() ? all_[location.module].error : 0;
      if (error == 0 || !is_nameless(location)) continue;
      by_error[error].samples += value;
      by_error[error].modules.insert(location.module);
    }
  }
  for (const auto& [error, nameless] : by_error) {
    const double share = static_cast<double>(nameless.samples) / static_cast<double>(all);
    if (share < kLeastNameless) continue;
    const std::size_t others = nameless.modules.size() - 1;
    recording.warnings.push_back(fmt::format(
        "{:.0f} % of the CPU time has no names, because its files could not be opened: {}{} ({})",
        100 * share, all_[*nameless.modules.begin()].path,
        others > 0 ? fmt::format(" and {} others", others) : "", why_not_opened(error)));
  }
}

}  // namespace causalctl::callpath
