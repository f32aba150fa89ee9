// Exact counts of one build of a file, from an instrumented run: how often each instruction was
// executed, and how often each jump was taken.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>

#include "controller/base/types.h"
#include "controller/continuous/record/counts.h"

namespace causalctl::continuous {

// From one instruction to another of the same file. Addresses are those of link time.
struct Jump {
  Address from = 0;
  Address to = 0;

  auto operator<=>(const Jump&) const = default;
};

using Executions = std::map<Address, std::uint64_t>;  // by link-time address of the instruction
using Jumps = std::map<Jump, std::uint64_t>;          // how often each was taken

struct ExactCounts {
  Executions instructions = {};
  Jumps jumps = {};

  bool operator==(const ExactCounts&) const = default;
};

// What was imported of one build.
struct ExactImport {
  Image image;
  std::string command = {};        // that was counted
  std::int64_t imported_ns = 0;    // since 1970
  std::uint64_t instructions = 0;  // all executions together
};

inline constexpr std::uint64_t kMostExecutions = INT64_MAX;  // SQLite's integers

// Adds, unless the sum is more than kMostExecutions. Then it returns false and changes nothing.
bool add_within(std::uint64_t& sum, std::uint64_t count);

// Throws Error if a sum is more than kMostExecutions.
void add(ExactCounts& to, const ExactCounts& from);
// Returns all executions together. Throws Error as add() does.
std::uint64_t sum_of(const Executions& instructions);

}  // namespace causalctl::continuous
