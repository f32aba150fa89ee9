// What `causalctl stalls` shows: the instructions that wait longest, of all code that was recorded
// (dcpitopstalls), as plain structs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/report/continuous/model.h"

namespace causalctl::report::continuous {

// What the program would gain without the stall, as a causal profile says.
struct StallEffect {
  std::string unit;  // line or function that was sped up
  Interval of_unit;  // the stall's part of its time
  Interval gain;     // the part of the time for a unit of progress that would go
};

struct StallRow {
  std::string function, image;
  Address address = 0;  // link-time
  std::string text;     // of the instruction
  std::string line;     // "deflate.c:12"; empty if it is not known
  double time_ns = 0;   // that it stalls
  Interval share = {};  // of all time
  // Of one execution, if counts tell.
  std::optional<double> ns_each;
  std::string culprits;  // letters, the likeliest first
  std::optional<StallEffect> effect;
};

struct EffectHead {
  std::string program, point;  // of the causal profile
  // Of the time in stalls: in units of which the profile is certain, of which it is not, and in
  // code of which it says nothing.
  double certain = 0, uncertain = 0, elsewhere = 0;
  std::vector<std::string> notes;
};

struct StallTable {
  std::string host;
  std::vector<EpochHead> epochs;
  std::string event;
  std::uint64_t samples = 0;
  Nanoseconds time_ns = 0;
  double analysed = 0;                               // share of the time in code that was analysed
  double counted = 0;                                // … of which executions are known
  double ghz = 0;                                    // of the host's cores; 0: not known
  std::vector<std::pair<char, std::string>> causes;  // what letters of culprits mean
  std::optional<EffectHead> effects;                 // if rows are ranked by effect, which all have
  std::vector<StallRow> rows;                        // the largest first
  std::vector<std::string> warnings;
};

std::string render_text(const StallTable& table, const TextOptions& options);
std::string render_json(const StallTable& table);

}  // namespace causalctl::report::continuous
