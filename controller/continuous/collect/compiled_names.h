// What processes call the code that they make, by their perf maps (symbols/perf_map.h), as far as
// that takes little time and memory.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "controller/base/types.h"
#include "controller/symbols/perf_map.h"

namespace causalctl::continuous {

class CompiledNames {
 public:
  // Returns the name of the function at the address; empty if it is not known, or not yet.
  std::string at(Pid process, Address address);
  // After each drain, in which so much time is for reading.
  void forget_ended();

 private:
  static constexpr Nanoseconds kPatience = 200 * kMillisecond;

  void read(symbols::PerfMapFile& file);

  std::map<Pid, symbols::PerfMapFile> files_;
  std::set<Pid> read_now_;  // since forget_ended()
  std::size_t names_ = 0;   // in memory, as of forget_ended()
  Nanoseconds left_ns_ = kPatience;
};

}  // namespace causalctl::continuous
