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
  std::string per;           // a progress point by whose visits times are divided; empty for none
  std::uint64_t visits = 0;  // of it
  std::vector<ProfileRow> rows;
  std::vector<std::string> warnings;
};

// What one function has in one epoch, for other programs to read (`db export --format json`).
struct ExportedRow {
  std::string host;
  EpochHead epoch;  // its times are in UTC, as "2026-11-25T10:00:00Z"
  std::string event, label, image, build_id, function;
  std::uint64_t samples = 0;
  Nanoseconds time_ns = 0;
};

std::string render_line(const ExportedRow& row);  // a JSON object, in one line

// What `causalctl stats` shows.
struct SpreadRow {
  std::string name, image;
  double range = 0;  // of the sum
  double sum = 0;    // CPU time per unit of a set, in nanoseconds; so are those that follow
  double share = 0;  // of all sums
  Interval mean = {};
  double deviation = 0;
  double least = 0, most = 0;
  double adjusted_p = 1;
  bool differs = false;      // more than by chance
  bool is_compared = false;  // otherwise it has too few samples for that
};

struct SampleSetHead {
  std::string name;
  std::uint64_t samples = 0;
  Nanoseconds time_ns = 0;  // on a core
  Nanoseconds recorded_ns = 0;
  double units = 0;  // seconds, or visits
};

struct SpreadTable {
  std::string per;  // the point whose visits are the units; empty: seconds
  std::vector<SampleSetHead> sets;
  std::vector<SpreadRow> rows;
  std::vector<std::string> warnings;
};

inline constexpr std::size_t kUsualRows = 30;

struct TextOptions {
  bool color = false;
  int width = 100;
  std::size_t most_rows = kUsualRows;  // 0: all
};

std::string render_text(const ProfileTable& table, const TextOptions& options);
std::string render_json(const ProfileTable& table);
std::string render_text(const SpreadTable& table, const TextOptions& options);
std::string render_json(const SpreadTable& table);

}  // namespace causalctl::report::continuous
