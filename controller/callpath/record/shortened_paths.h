// Shortens the deep paths of a recording whose tree has very many nodes. Pure.
//
// Recursion that never takes the same way twice has a path of its own for each sample, as long as
// it is deep: a few thousand samples are a million nodes, each of which a report holds several
// times. So nodes deeper than kShallowFrames are bounded in number. Beyond the bound the longest
// paths lose frames in their middle. Their ends, which tell where the recursion begins and what it
// does, are kept; a path of kShallowFrames is always whole.
#pragma once

#include <cstddef>
#include <optional>

#include "controller/callpath/record/recording.h"

namespace causalctl::callpath {

inline constexpr std::size_t kShallowFrames = 64;
inline constexpr std::size_t kMostDeepNodes = 1U << 18U;
inline constexpr const char* kFramesLeftOut = "[frames left out]";

// If more than `most` nodes are deeper than kShallowFrames, paths keep their outermost and
// innermost frames, with kFramesLeftOut between, and a warning of the recording says so. Returns
// how many frames they keep, or nullopt if nothing has changed. Bounds of calls are lost where
// frames are left out: that of the fewest calls may be too small then, never too large. REQUIRES:
// sum_calls() comes afterwards.
std::optional<std::size_t> shorten_paths(Recording& recording, std::size_t most = kMostDeepNodes);

}  // namespace causalctl::callpath
