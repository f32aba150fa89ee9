// What changed from one recording to another, by function, line and path. Pure.
//
// Many rows are compared, so that some differ by chance. A row has changed if the p-values of all
// rows, adjusted by Holm's method, say so: with a probability of 95 % no row is among these by
// chance. Of those that differ by their own interval only, the expected number of chance is told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "controller/report/callpath/change.h"
#include "controller/report/callpath/labels.h"
#include "controller/report/callpath/sides.h"

namespace causalctl::report::callpath {

enum class Verdict : std::uint8_t {
  more,
  less,
  perhaps,   // its own interval leaves 0 out, but not if all that were compared are considered
  none,      // no change that can be told
  unknown,   // nothing tells how certain it is
  too_small  // it was not compared, because neither recording has much of it
};
constexpr auto names_of(Verdict) {
  return std::array<std::string_view, 6>{"more", "less", "perhaps", "none", "unknown", "too-small"};
}

struct Compared {
  Change change;
  double adjusted_p = 1;  // for all that were compared
  Verdict verdict = Verdict::too_small;
};

// A family of rows that were compared at once.
struct Family {
  std::vector<Compared> rows;
  std::size_t compared = 0;
  std::size_t changed = 0;
  std::size_t perhaps = 0;
};

// What a recording has of each function or line.
struct DifferenceTable {
  Labels labels;
  LabelTree tree;  // of Sides::profile
  Family own;      // by label
  Family total;    // with all that is called
};

// What a recording has of each path, with all that is called from there.
struct DifferenceTree {
  Labels labels;
  LabelTree tree;  // of Sides::profile
  Family total;    // by node
};

// Rows with at least this mean of both shares are compared.
inline constexpr double kComparedInTable = 0.001;
inline constexpr double kComparedInTree = 0.005;
inline constexpr double kChance = 0.05;  // of a row to differ without a cause

// Throws UsageError if one of the two has nothing to compare.
void check_comparable(const Sides& sides);

// REQUIRES of these three: they are comparable.
DifferenceTable table_of_changes(const Sides& sides, Labels labels);
DifferenceTree tree_of_changes(const Sides& sides, Labels labels);
// Of all paths together. Of shares it is 1 in both.
Change change_of_all(const Sides& sides);

// Rows by rank: what changed, then what perhaps did, then the rest; in each the largest difference
// first. Without those that were not compared.
std::vector<std::uint32_t> ranked_changes(const Family& family);

// By source line, where that is known, and by function otherwise, because offsets differ.
Labels by_known_line(const Profile& profile);

// How many parts of time each side has; the smaller number.
std::size_t fewest_parts(const Sides& sides);

}  // namespace causalctl::report::callpath
