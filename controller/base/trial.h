// What trying one of the kernel's facilities on causalctl itself has shown.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/error.h"
#include "controller/base/facility.h"
#include "controller/base/types.h"

namespace causalctl {

enum class Outcome : std::uint8_t {
  seen,         // it worked as needed
  never_fired,  // it could be opened, but did nothing
  refused,      // it could not be opened
};

constexpr auto names_of(Outcome) {
  return std::array<std::string_view, 3>{"seen", "never-fired", "refused"};
}

struct Trial {
  Facility facility = Facility::sample;
  Outcome outcome = Outcome::never_fired;
  std::string finding;      // what was seen, or why nothing was
  std::string hint;         // what can be done about it, or empty
  Nanoseconds cost_ns = 0;  // what one hit costs the thread that is hit; 0 if not measured

  bool is_seen() const { return outcome == Outcome::seen; }
};

// Returns the trial of a facility that could not be opened; `error` says why, and what can be done.
inline Trial refused(Facility facility, const Error& error) {
  return {facility, Outcome::refused, error.what(), error.hint(), 0};
}

// Returns the trial in which the facility could be opened but did nothing, or nullptr.
inline const Trial* find_vain(const std::vector<Trial>& trials, Facility facility) {
  const auto found = std::find_if(trials.begin(), trials.end(), [&](const Trial& each) {
    return each.facility == facility && each.outcome == Outcome::never_fired;
  });
  return found == trials.end() ? nullptr : &*found;
}

}  // namespace causalctl
