#include "controller/session/set_members.h"

#include <fnmatch.h>

#include <algorithm>
#include <iterator>

#include "controller/base/base_name.h"

namespace causalctl::session {
namespace {

constexpr std::size_t kLongestName = 15;  // bytes of /proc/PID/comm

bool is_among(const std::vector<Pid>& sorted, Pid pid) {
  return std::binary_search(sorted.begin(), sorted.end(), pid);
}

}  // namespace

bool is_named(std::string_view name, const std::string& glob) {
  return name == glob || ::fnmatch(glob.c_str(), std::string(name).c_str(), 0) == 0;
}

bool is_process_named(std::string_view name, const ReadNames& read, const std::string& glob) {
  if (is_named(name, glob)) return true;
  if (is_named(base_name(read.executable()), glob)) return true;
  if (name.size() < kLongestName) return false;
  const std::vector<std::string> words = read.words();
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return base_name(word).starts_with(name) && is_named(base_name(word), glob);
  });
}

Family::Family(const std::vector<ProcessRow>& roots) {
  for (const ProcessRow& root : roots) add(root);
}

void Family::add(const ProcessRow& row) { start_ticks_[row.pid] = row.start_ticks; }

std::vector<Pid> Family::update(const std::vector<ProcessRow>& rows, const std::vector<Pid>& ours) {
  std::multimap<Pid, const ProcessRow*> children;
  std::vector<const ProcessRow*> to_visit;
  for (const ProcessRow& row : rows) {
    children.emplace(row.parent, &row);
    const auto known = start_ticks_.find(row.pid);
    if (known != start_ticks_.end() && known->second == row.start_ticks) to_visit.push_back(&row);
  }
  start_ticks_.clear();
  std::vector<Pid> members;
  while (!to_visit.empty()) {
    const ProcessRow& row = *to_visit.back();
    to_visit.pop_back();
    if (is_among(ours, row.pid) || !start_ticks_.emplace(row.pid, row.start_ticks).second) continue;
    if (row.runs_program()) members.push_back(row.pid);
    const auto [first, last] = children.equal_range(row.pid);
    std::transform(first, last, std::back_inserter(to_visit),
                   [](const auto& child) { return child.second; });
  }
  std::sort(members.begin(), members.end());
  return members;
}

std::vector<Pid> at_most(const std::vector<Pid>& found, const std::vector<Pid>& before,
                         std::size_t most) {
  if (found.size() <= most) return found;
  std::vector<Pid> kept, others;
  for (const Pid pid : found) (is_among(before, pid) ? kept : others).push_back(pid);
  kept.resize(std::min(kept.size(), most));
  others.resize(std::min(others.size(), most - kept.size()));
  std::vector<Pid> chosen;
  std::merge(kept.begin(), kept.end(), others.begin(), others.end(), std::back_inserter(chosen));
  return chosen;
}

}  // namespace causalctl::session
