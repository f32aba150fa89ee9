// What debug information says of an address of the target.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::symbols {

struct Location {
  Address address = 0;
  std::string module;  // path of the file that is mapped there; empty: none
  // Innermost first, inlined frames included. Empty where the module is not wanted, and where
  // nothing is known.
  std::vector<unwind::Frame> frames{};
  bool has_lines = false;  // the module has line information
  // Where the function that holds the address begins. A sample in code that was inlined from a
  // header gives another file than the next sample; this frame is always the same.
  std::optional<unwind::Frame> entry{};
};

// Of which modules the frames are wanted: the debug information of no other one is read.
using Wanted = std::function<bool(const unwind::Module&)>;

// Throws Error where the module's debug information is broken; `location.module` is set by then.
void locate(Location& location, unwind::Symbolizer& symbolizer, const Wanted& wanted);

// The same for an address whose module is wanted, whichever it is.
Location location_of(Address address, unwind::Symbolizer& symbolizer);

}  // namespace causalctl::symbols
