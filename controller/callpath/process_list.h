// Keeps the list of the processes of a set (Recording::processes). Pure.
//
// The number of its entries is bounded, as a build may start 10,000 processes. The first
// kMostProcesses have entries of their own. Further ones share an entry with those of their
// program, and with too many programs one of all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "controller/base/types.h"
#include "controller/callpath/recording.h"

namespace causalctl::callpath {

inline constexpr std::size_t kMostProcesses = 512;
inline constexpr std::size_t kMostSharedPrograms = 64;
inline constexpr const char* kOtherPrograms = "[other programs]";

class ProcessList {
 public:
  // `recording` is borrowed. Its processes, its shared entries and the number of processes in its
  // account are written, and nothing else.
  explicit ProcessList(Recording& recording) : recording_(recording) {}

  // A process is recorded from now on, and runs `program`. Returns its number in
  // Recording::processes.
  std::uint32_t began(Pid pid, const std::string& program);
  // A process that has begun runs `program` from now on. Returns its number from now on, which
  // stays the same if it runs the same program again.
  std::uint32_t executed(Pid pid, const std::string& program);

 private:
  std::uint32_t number_of(Pid pid, const std::string& program);
  std::uint32_t shared_number_of(std::string program);

  Recording& recording_;
  // The latest entry of a pid, with its program. A pid that is used again has the later one.
  std::map<Pid, std::pair<std::uint32_t, std::string>> latest_;
  std::map<std::string, std::size_t> shared_;  // index in Recording::shared, by program
};

}  // namespace causalctl::callpath
