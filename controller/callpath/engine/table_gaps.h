// In which files call chains meet code whose callers no unwind table tells. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "controller/callpath/record/recording.h"
#include "unwind/stack/chain.h"

namespace causalctl::callpath {

class TableGaps {
 public:
  // Notes the innermost such code of the chain, whose caller was searched for or is missing. `path`
  // has the locations of its frames, outermost first.
  void take(const unwind::Chain& chain, std::span<const LocationId> path);
  // Returns a warning for each file whose code is met by at least one chain in a hundred.
  std::vector<std::string> warnings(const Recording& recording) const;

 private:
  std::map<LocationId, std::uint64_t> met_;  // how many chains, by the code's location
};

}  // namespace causalctl::callpath
