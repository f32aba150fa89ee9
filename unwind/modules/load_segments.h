// The parts of an ELF file that a loader maps, by its program headers. Pure, but for the
// descriptor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "unwind/modules/mapped_file.h"

namespace causalctl::unwind {

// Fills all of the bytes from an offset in the file, or returns false.
using ReadFile = std::function<bool(std::uint64_t offset, std::span<std::byte>)>;

// Return the loaded segments of an ELF file in ascending order, or none if it is no such file.
std::vector<LoadSegment> load_segments(const ReadFile& read);
std::vector<LoadSegment> load_segments(std::span<const std::byte> file);
std::vector<LoadSegment> load_segments(int fd);

}  // namespace causalctl::unwind
