// The form in which counts are stored: as bytes of variable length, compressed where that makes
// them smaller, with a checksum (docs/database-format.md). Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "controller/continuous/record/counts.h"
#include "controller/continuous/record/exact_counts.h"

namespace causalctl::continuous {

std::vector<std::byte> encode(const Counts& counts);
// Throw Error if the places are too many for one blob: 256 MB before they are packed.
std::vector<std::byte> encode(const Executions& executions);
std::vector<std::byte> encode(const Jumps& jumps);
// Throw Error, which says what is wrong with the bytes, if they are not what encode() of the same
// type returns.
Counts decode(std::span<const std::byte> bytes);
Executions decode_executions(std::span<const std::byte> bytes);
Jumps decode_jumps(std::span<const std::byte> bytes);

}  // namespace causalctl::continuous
