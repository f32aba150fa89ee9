// Two recordings side by side, as plain structs: one tree with the values of both, by part of their
// time (change.h).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "controller/report/callpath/model.h"

namespace causalctl::report::callpath {

struct Side {
  Profile head;  // its tree is the root, with all values; the columns are all that were recorded
  // Columns of Sides::profile: what the metric's values were in each part of the time.
  std::vector<std::size_t> parts;
  // What is divided by, for each part: seconds, or what another column has. Empty for shares, of
  // which it is what all paths have together.
  std::vector<double> bases;
  std::optional<std::size_t>
      samples;  // the column that counts them, if the metric is what they sample
};

struct Sides {
  Profile profile;  // its columns are those that the sides name
  Column metric;
  std::string per;  // empty for shares; "second"; or the name of the column that is divided by
  std::string per_title;  // for people: "second", "Calls of reply"
  Side before;
  Side after;
  std::vector<std::string> notes;  // on how well the two can be compared, a sentence each
  // What to do where there are too few parts to see how alike samples of one moment are.
  std::string more_parts = "Record for 10 s at least.";
};

}  // namespace causalctl::report::callpath
