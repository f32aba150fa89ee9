#include "controller/callpath/engine/thread_groups.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "controller/base/base_name.h"
#include "controller/base/language_runtime.h"
#include "controller/callpath/record/limits.h"

namespace causalctl::callpath {
namespace {

bool is_runtime(const Recording& recording, LocationId location) {
  return is_language_runtime(recording.modules.at(recording.locations.at(location).module).path);
}

}  // namespace

LocationId start_of(const std::vector<LocationId>& path, const Recording& recording) {
  std::size_t at = 0;
  // The first thread begins in its own file, which at once calls the C library to call main().
  if (path.size() > 1 && !is_runtime(recording, path[0]) && is_runtime(recording, path[1])) ++at;
  while (at < path.size() && is_runtime(recording, path[at])) ++at;
  return at < path.size() ? path[at] : path[0];
}

std::string pattern_of(std::string_view name) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_of_word = [&](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  std::string pattern;
  for (std::size_t i = 0; i < name.size();) {
    if (is_digit(name[i])) {
      pattern += '*';
      while (i < name.size() && is_of_word(name[i])) ++i;
    } else {
      pattern += name[i++];
    }
  }
  return pattern;
}

ThreadGroups::ThreadGroups(Grouping grouping, Recording& recording)
    : grouping_(grouping), recording_(recording) {}

void ThreadGroups::belongs(ThreadId thread, std::shared_ptr<ProcessRun> process) {
  const auto [known, is_new] = processes_.try_emplace(thread, process);
  if (!is_new && known->second == process) return;
  if (!is_new) starts_.erase(thread);
  known->second = std::move(process);
  of_thread_.erase(thread);
}

bool ThreadGroups::has_entry(ThreadId thread) const {
  const auto of = processes_.find(thread);
  return of == processes_.end() || of->second->has_number();
}

void ThreadGroups::named(ThreadId thread, const std::string& name) {
  names_[thread] = name;
  of_thread_.erase(thread);
}

std::string ThreadGroups::name_of(ThreadId thread) const {
  const auto named = names_.find(thread);
  return named == names_.end() ? std::string() : named->second;
}

std::uint32_t ThreadGroups::group_of(ThreadId thread) {
  const auto [known, is_new] = of_thread_.try_emplace(thread, 0);
  if (!is_new) return known->second;
  std::string name = "all";
  if (grouping_ == Grouping::by_start) {
    if (const auto start = starts_.find(thread); start != starts_.end()) {
      const Location& at = recording_.locations.at(start->second);
      name = fmt::format("{}+{:#x}", base_name(recording_.modules.at(at.module).path), at.offset);
      return known->second = group(thread, name, start->second);
    }
    name = "[start not known]";
  } else if (grouping_ != Grouping::all) {
    const auto named = names_.find(thread);
    name = named == names_.end() ? "[thread without a name]" : named->second;
    if (grouping_ == Grouping::each) name += fmt::format(" (thread {})", thread.tid);
  }
  return known->second = group(thread, name);
}

void ThreadGroups::began(ThreadId thread, LocationId start) {
  starts_[thread] = start;
  of_thread_.erase(thread);
}

void ThreadGroups::ended(ThreadId thread) {
  names_.erase(thread);
  starts_.erase(thread);
  processes_.erase(thread);
  of_thread_.erase(thread);
}

void ThreadGroups::executed() {
  starts_.clear();
  of_thread_.clear();
}

std::string ThreadGroups::merged_name(OfProcess process, const std::string& name) {
  const std::map<std::string, std::uint32_t>& names = by_name_[process];
  if (names.contains(name)) return name;
  const bool has_room = !process || recording_.groups.size() < kMostGroups;
  if (has_room && names.size() < kMostNames) return name;
  if (names.empty()) return name;  // a process has one group at least
  ++recording_.account.names_merged;
  std::string pattern = pattern_of(name);
  if (names.contains(pattern)) return pattern;
  return has_room && names.size() < kMostNames + kMostPatterns ? pattern : kOtherThreads;
}

std::uint32_t ThreadGroups::group(ThreadId thread, const std::string& name,
                                  std::optional<LocationId> start) {
  const auto of = processes_.find(thread);
  const OfProcess process = of == processes_.end() ? OfProcess() : OfProcess(of->second->number());
  std::string merged = merged_name(process, name);
  const bool is_own = merged == name;
  const auto [known, is_new] =
      by_name_[process].try_emplace(merged, static_cast<std::uint32_t>(recording_.groups.size()));
  if (is_new)
    recording_.groups.push_back({std::move(merged), is_own ? start : std::nullopt, process});
  return known->second;
}

}  // namespace causalctl::callpath
