// What `causalctl prof` shows, as plain structs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controller/base/interval.h"
#include "controller/base/types.h"

namespace causalctl::report::continuous {

struct ProfileRow {
  std::string name;   // of a function, an image or a label
  std::string image;  // path; empty where the row is not of one image
  std::uint64_t samples = 0;
  Nanoseconds time_ns = 0;  // on a core
  Interval share = {};      // of all samples
};

struct EpochHead {
  std::int64_t id = 0;
  std::string name;
  std::string begin, end;  // local time
  Nanoseconds recorded_ns = 0;
};

struct ProfileTable {
  std::string host;
  std::vector<EpochHead> epochs;
  std::string event;
  std::string by;
  std::uint64_t samples = 0;
  Nanoseconds time_ns = 0;
  std::vector<ProfileRow> rows;
  std::vector<std::string> warnings;
};

struct TextOptions {
  bool color = false;
  int width = 100;
  std::size_t most_rows = 30;  // 0: all
};

std::string render_text(const ProfileTable& table, const TextOptions& options);
std::string render_json(const ProfileTable& table);

}  // namespace causalctl::report::continuous
