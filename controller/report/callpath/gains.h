// What a program would gain if code became faster on one call path alone: the slope of a unit, as a
// causal profile found it, times the path's share of the unit's samples. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/error.h"
#include "controller/base/interval.h"
#include "controller/report/callpath/model.h"

namespace causalctl::report::callpath {

// What a causal profile says of a unit.
enum class UnitVerdict : std::uint8_t { optimise, no_effect, contention, not_enough_data };
constexpr auto names_of(UnitVerdict) {
  return std::array<std::string_view, 4>{"optimise", "no-effect", "contention", "not-enough-data"};
}

// A line or function that a causal profile has sped up.
struct CausalUnit {
  std::string name;  // "pipeline.c:34", "reply"
  bool is_line = false;
  std::string function;
  std::string file;
  int line = 0;
  std::string module;             // file name of the binary; empty if not known
  std::optional<Interval> slope;  // gain of the program for a gain of the unit
  UnitVerdict verdict = UnitVerdict::not_enough_data;
  std::uint64_t samples = 0;      // of the causal profile
  std::uint64_t in_own_code = 0;  // those of them in user code of the unit; 0: not known
};

// Whether something certain is known of it.
inline bool has_verdict(const CausalUnit& unit) {
  return unit.slope && unit.verdict != UnitVerdict::not_enough_data;
}
std::string names_of_units(const std::vector<CausalUnit>& units);  // of the first ones

struct CausalProfile {
  std::string program;
  std::string point;  // the progress that is meant
  std::vector<CausalUnit> units;
  std::vector<std::string> notes;  // on how well it fits the paths
};

// To which unit samples are charged that end at a node.
struct Charge {
  static constexpr std::int32_t kNotInProfile =
      -1;                                          // code in scope that the profile says nothing of
  static constexpr std::int32_t kOutOfScope = -2;  // no function on the path is in scope
  std::int32_t unit = kOutOfScope;                 // its number, or one of these
  std::uint32_t node = 0;                          // the node of the frame that is the unit
};

struct Gain {
  std::size_t unit = 0;           // index in CausalProfile::units
  std::vector<std::string> path;  // functions from the outermost to the unit's
  std::uint64_t samples = 0;      // of the unit on this path
  Interval share;                 // of the unit's samples
  Interval gain;                  // slope × share
};

struct Gains {
  CausalProfile causal;
  std::vector<Gain> paths;  // of units with a slope that is certain; the largest gain first
  std::vector<std::uint64_t> samples_of_unit;
  std::uint64_t samples = 0;         // all
  std::uint64_t not_certain = 0;     // in units without a verdict
  std::uint64_t not_in_profile = 0;  // in scope, in no unit of the profile
  std::uint64_t out_of_scope = 0;
};

// Returns the number of the column of CPU time, "samples" or "cpu". Throws UsageError if there is
// none.
std::size_t column_named(std::string_view name, const Profile& profile);
Error no_verdicts(const CausalProfile& causal);  // is thrown if there is none

// `charges` are by node. Throws Error if no sample is in a unit (the profile is of another
// program), or if no unit has a verdict; UsageError if there are no samples. REQUIRES: units of the
// charges exist.
Gains gains_of(const Profile& profile, const std::vector<Charge>& charges, CausalProfile causal);

// The interval of a product of independent numbers, of which the second is not negative (method of
// variance estimates recovery: Donner & Zou, Statistical Methods in Medical Research 21 (2012)).
Interval product(const Interval& a, const Interval& b);

std::string render_gains_text(const Profile& profile, const Gains& gains, bool color, int width);
std::string render_gains_json(const Profile& profile, const Gains& gains);
// The page of the call paths, coloured by slope.
std::string render_gains_html(const Profile& profile, const std::vector<Charge>& charges,
                              const Gains& gains);

}  // namespace causalctl::report::callpath
