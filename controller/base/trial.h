// What a try of one of the kernel's facilities on ourselves has shown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "controller/base/error.h"
#include "controller/base/facility.h"
#include "controller/base/types.h"

namespace causalctl {

enum class Outcome : std::uint8_t {
  seen,         // it did what it is relied on for
  never_fired,  // it could be opened, and nothing came of it
  refused,      // it could not be opened
};

// "seen", "never-fired", "refused".
std::string_view name_of(Outcome outcome);

struct Trial {
  Facility facility = Facility::sample;
  Outcome outcome = Outcome::never_fired;
  std::string finding;      // what was seen, or why nothing was
  std::string hint;         // what can be done about it; may be empty
  Nanoseconds cost_ns = 0;  // of one hit, to the thread that was hit; 0: not measured

  bool is_seen() const { return outcome == Outcome::seen; }
};

// Of a facility that could not be opened: `error` says why, and what can be done.
inline Trial refused(Facility facility, const Error& error) {
  return {facility, Outcome::refused, error.what(), error.hint(), 0};
}

}  // namespace causalctl
