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
  std::vector<StallRow> rows;                        // the largest first
  std::vector<std::string> warnings;
};

std::string render_text(const StallTable& table, const TextOptions& options);
std::string render_json(const StallTable& table);

}  // namespace causalctl::report::continuous
