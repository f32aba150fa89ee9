// The form in which counts are stored: as bytes of variable length, compressed where that makes
// them smaller, with a checksum (docs/database-format.md). Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "controller/continuous/record/counts.h"

namespace causalctl::continuous {

std::vector<std::byte> encode(const Counts& counts);
// Throws Error, which says what is wrong with the bytes, if they are not what encode() returns.
Counts decode(std::span<const std::byte> bytes);

}  // namespace causalctl::continuous
