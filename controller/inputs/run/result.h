// Reads the file that the Valgrind tool writes (controller/inputs/tool/result.cc describes it).
// Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/inputs/record/recording.h"

namespace causalctl::inputs {

// The activations of a routine in a thread that had one pair of sizes.
struct ResultRow {
  std::uint32_t routine = 0;  // its number
  std::uint32_t thread = 0;   // its number
  std::uint64_t rms = 0;
  std::uint64_t trms = 0;
  SizeRow row;  // `size` is 0
};

struct ResultRoutine {
  std::uint32_t number = 0;
  std::uint32_t module = 0;  // index in Result::modules
  std::uint64_t offset = 0;  // in the module's file, or an address if that is no file
};

struct Result {
  std::array<std::uint64_t, kCostUnits> total{};
  std::uint64_t lost = 0;
  std::vector<std::string> modules;
  std::vector<ResultRoutine> routines;
  std::vector<std::uint32_t> threads;  // their numbers
  std::vector<ResultRow> rows;
  bool final = false;  // the program has ended
};

// Throws Error that names the line if the text is not a whole result.
Result parse_result(std::string_view text);

// Returns how many basic blocks were executed, as the beginning of a result tells; nullopt if it
// does not.
std::optional<std::uint64_t> blocks_in_head(std::string_view begin);

}  // namespace causalctl::inputs
