// What is kept of a file with code, so that its profile can be analysed once it was replaced: its
// code, tables and symbols at the offsets that they have in it, without debug information. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace causalctl::continuous {

// Takes the bytes of a 64-bit ELF file. Sections that are neither loaded nor have symbols are
// zeros, and are marked as having no bytes (SHT_NOBITS). Returns an empty text if it is no such
// file.
std::string without_debug_information(std::string file);

inline constexpr std::size_t kLargestKeptFile = 64U << 20U;
inline constexpr std::size_t kLargestLog = 256U << 20U;  // of call paths of an epoch

// To bytes that are compressed, and back. The latter throws Error if they are damaged, or if they
// were more than `most`.
std::string packed_file(std::string_view file);
std::string unpacked_file(std::string_view packed, std::size_t most);

}  // namespace causalctl::continuous
