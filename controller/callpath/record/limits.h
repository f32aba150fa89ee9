// How many entries the lists of a recording have at most. What is beyond is merged into one entry.
#pragma once

#include <cstddef>

namespace causalctl::callpath {

inline constexpr std::size_t kMostEvents = 32;
// Places of code in no file. Such code comes without end where a program compiles on and on; what
// is beyond stands at one place.
inline constexpr std::size_t kMostCompiled = 1U << 18U;

// Nodes of the tree. It grows by one more for each of them at most.
inline constexpr std::size_t kMostNodes = 1U << 20U;

inline constexpr std::size_t kMostProcesses = 512;
inline constexpr std::size_t kMostSharedPrograms = 64;
inline constexpr std::size_t kMostPrograms = 512;  // that are counted by name
inline constexpr const char* kOtherPrograms = "[other programs]";

inline constexpr std::size_t kMostNames = 256;  // of threads
inline constexpr std::size_t kMostPatterns = 64;
inline constexpr std::size_t kMostGroups = 4096;  // of a set
inline constexpr const char* kOtherThreads = "[other threads]";

}  // namespace causalctl::callpath
