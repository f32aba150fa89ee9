// From two sets of recordings to the model of their comparison. Pure.
#pragma once

#include <string>
#include <vector>

#include "controller/callpath/record/recording.h"
#include "controller/report/callpath/sides.h"

namespace causalctl::callpath {

// What is compared.
struct SidesWanted {
  std::string epoch;   // as for present()
  std::string metric;  // name of a column; empty for the first one of the new recordings
  // What is divided by: empty for shares of all that is shown, "second", or the name of a column.
  std::string per;
};

// Puts the values of both into one tree. Functions are matched by name and module, modules by the
// file's name where the path differs (builds have other addresses, build-ids and folders); code
// without a line has no place of its own. Throws UsageError if one of the two has no such column or
// epoch, or if the column cannot be compared. REQUIRES: a run of each; they were read with their
// parts, without which each run is one part.
report::callpath::Sides present_sides(std::vector<Recording> before, std::vector<Recording> after,
                                      const SidesWanted& wanted);

}  // namespace causalctl::callpath
