// Tells which group of threads a thread belongs to: all are one, those with one name are, each is
// its own, or those are one that began with one function (csprof §2.5.5 keeps threads apart by
// where they were created). A thread that is renamed changes its group from then on.
//
// The number of groups is bounded, as a program may give a name to each of its requests. The first
// kMostNames names have groups of their own; further ones are merged by pattern ("req-17":
// "req-*"), and with too many patterns into one group.
//
// The function with which a thread began is in each complete chain of it: outermost is the code of
// the C library that starts threads or programs, and then comes the first code that is of no
// run-time library. Until a thread has had a complete chain, it belongs to a group of such threads.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "controller/base/types.h"
#include "controller/callpath/recording.h"

namespace causalctl::callpath {

enum class Grouping : std::uint8_t { all, by_name, each, by_start };
constexpr auto names_of(Grouping) {
  return std::array<std::string_view, 4>{"all", "by-name", "each", "by-start"};
}

inline constexpr std::size_t kMostNames = 256;
inline constexpr std::size_t kMostPatterns = 64;

// Returns the name with each number in it, and what of the same word follows it, as "*": of
// "req-17a b" it is "req-* b".
std::string pattern_of(std::string_view name);

class ThreadGroups {
 public:
  // It adds to the recording's groups, and to nothing else.
  ThreadGroups(Grouping grouping, Recording& recording);

  void named(ThreadId thread, const std::string& name);
  std::uint32_t group_of(ThreadId thread);

  // Whether it matters how a thread began, and that is not known.
  bool wants_start(ThreadId thread) const {
    return grouping_ == Grouping::by_start && !starts_.contains(thread);
  }
  void began(ThreadId thread, LocationId start);
  void ended(ThreadId thread);
  void executed();  // all threads run another program

 private:
  std::uint32_t group(std::string name);
  std::uint32_t group_with_start(LocationId start);

  Grouping grouping_;
  Recording& recording_;
  std::map<ThreadId, std::string> names_;
  std::map<ThreadId, LocationId> starts_;
  std::map<ThreadId, std::uint32_t> of_thread_;
  std::map<std::string, std::uint32_t> by_name_;
};

// Returns where a thread was in the function with which it began. REQUIRES: the path is complete,
// outermost first, and not empty.
LocationId start_of(const std::vector<LocationId>& path, const Recording& recording);

}  // namespace causalctl::callpath
