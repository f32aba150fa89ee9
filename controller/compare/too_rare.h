// Says why a progress point was passed too rarely, as far as it can be known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "controller/base/types.h"
#include "controller/compare/run_failed.h"
#include "controller/session/children.h"
#include "controller/session/target_state.h"

namespace causalctl::compare {

struct Passed {
  std::string name;
  std::uint64_t visits = 0;  // of a latency, ends
  Nanoseconds length_ns = 0;
  // Of a latency.
  std::optional<std::uint64_t> begins = std::nullopt;
  std::string begin{}, end{};  // as the user names them
};

// `unseen` is a sentence about visits that are not counted. Pure.
RunFailed too_rare(const Passed& passed, const session::TargetState& state,
                   const std::optional<std::string>& unseen);

// Returns such a sentence where threads began whose first visits may be missing.
std::string text_of_births(double births_per_s);

// Returns one if the process has children that may pass the points. A child may live for
// milliseconds, so it is looked for during a fifth of a second.
std::optional<std::string> text_of_children(const session::Children& children, Pid pid);

}  // namespace causalctl::compare
