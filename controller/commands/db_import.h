// `causalctl db DIR import FILE…`: exact counts of callgrind, kept by build.
#pragma once

#include <string>
#include <vector>

namespace causalctl::commands {

// `path`: a database, or the folder of databases, which is made if it is not there.
void import_counts(const std::string& path, const std::vector<std::string>& files);

}  // namespace causalctl::commands
