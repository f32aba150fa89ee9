// Asks the namer of each call of a recording whether tail calls have left out functions below it,
// and adds the answers to the recording.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>

#include "controller/callpath/engine/processes.h"
#include "controller/callpath/places/namer.h"
#include "controller/callpath/record/recording.h"

namespace causalctl::callpath {

class MissingCallers {
 public:
  // All must live as long as this object.
  MissingCallers(Places& places, Processes& processes, Namer& namer, Recording& recording)
      : places_(places), processes_(processes), namer_(namer), recording_(recording) {}

  // Asks of what is new in the tree, and takes answers. REQUIRES: the names of all locations were
  // asked for.
  void update();

 private:
  void ask(LocationId call, LocationId callee);
  bool ask(LocationId call, LocationId callee, Pid process, bool again);
  void take(const Namer::TailAnswer& answer);

  Places& places_;
  Processes& processes_;
  Namer& namer_;
  Recording& recording_;
  std::size_t asked_ = 1;                    // nodes
  std::unordered_set<std::uint64_t> pairs_;  // of locations that were asked of
};

}  // namespace causalctl::callpath
