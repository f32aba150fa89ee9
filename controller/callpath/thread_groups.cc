#include "controller/callpath/thread_groups.h"

#include <fmt/format.h>

namespace causalctl::callpath {

ThreadGroups::ThreadGroups(Grouping grouping, Recording& recording)
    : grouping_(grouping), recording_(recording) {}

void ThreadGroups::named(ThreadId thread, const std::string& name) {
  names_[thread] = name;
  of_thread_.erase(thread);
}

std::uint32_t ThreadGroups::group_of(ThreadId thread) {
  const auto [known, is_new] = of_thread_.try_emplace(thread, 0);
  if (!is_new) return known->second;
  std::string name = "all";
  if (grouping_ != Grouping::all) {
    const auto named = names_.find(thread);
    name = named == names_.end() ? "[thread without a name]" : named->second;
    if (grouping_ == Grouping::each) name += fmt::format(" (thread {})", thread.tid);
  }
  return known->second = group(name);
}

std::uint32_t ThreadGroups::group(const std::string& name) {
  const auto [known, is_new] =
      by_name_.try_emplace(name, static_cast<std::uint32_t>(recording_.groups.size()));
  if (is_new) recording_.groups.push_back({name});
  return known->second;
}

}  // namespace causalctl::callpath
