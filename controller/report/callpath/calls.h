// How often functions call each other, by function. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "controller/report/callpath/labels.h"
#include "controller/report/callpath/model.h"
#include "controller/report/text.h"

namespace causalctl::report::callpath {

inline constexpr std::uint32_t kNoCaller = UINT32_MAX;

// The columns that count calls.
std::vector<std::size_t> call_columns(const Profile& profile);

// The values of these columns, by the labels of caller and callee. The caller of an outermost
// function is kNoCaller. Rows without calls are missing.
std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint64_t>> calls_by_function(
    const Profile& profile, const Labels& functions);

// Writes the table of `--by calls`.
void write_calls(const Profile& profile, Text& out);

}  // namespace causalctl::report::callpath
