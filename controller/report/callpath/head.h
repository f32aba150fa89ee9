// What the reports for people say before their tables. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/interval.h"
#include "controller/report/callpath/model.h"

namespace causalctl::report::callpath {

// Returns the column of the samples if the first column is what they sample.
std::optional<std::size_t> samples_column(const Profile& profile);
// Returns the share `part` of `all` in the column of the samples, or in what they sample, with the
// 95 % interval of a share that is known from `samples` of them.
Interval sampled_share(std::uint64_t part, std::uint64_t all, std::uint64_t samples);

// "server (process 4711)", "postgres and 51 other processes"; printable.
std::string program_words(const Profile& profile);
// "1,200 samples in 2.0 s, one each 1 ms of CPU time"
std::string sampling_words(const Profile& profile);
// How the call chains ended, as a sentence; empty if there were none.
std::string chain_words(const Profile& profile);

// What is to be told of the profile's time, a paragraph each; printable.
std::vector<std::string> time_lines(const Profile& profile);

// The same and the profile's notes, for reports that have them together.
std::vector<std::string> time_and_notes(const Profile& profile);

// How often functions were called, a line each.
std::vector<std::string> count_lines(const Profile& profile);

}  // namespace causalctl::report::callpath
