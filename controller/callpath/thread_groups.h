// Tells which group of threads a thread belongs to: all are one, those with one name are, or each
// is its own. A thread that is renamed changes its group from then on.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "controller/base/types.h"
#include "controller/callpath/recording.h"

namespace causalctl::callpath {

enum class Grouping : std::uint8_t { all, by_name, each };
constexpr auto names_of(Grouping) {
  return std::array<std::string_view, 3>{"all", "by-name", "each"};
}

class ThreadGroups {
 public:
  // It adds to the recording's groups, and to nothing else.
  ThreadGroups(Grouping grouping, Recording& recording);

  void named(ThreadId thread, const std::string& name);
  std::uint32_t group_of(ThreadId thread);

 private:
  std::uint32_t group(const std::string& name);

  Grouping grouping_;
  Recording& recording_;
  std::map<ThreadId, std::string> names_;
  std::map<ThreadId, std::uint32_t> of_thread_;
  std::map<std::string, std::uint32_t> by_name_;
};

}  // namespace causalctl::callpath
