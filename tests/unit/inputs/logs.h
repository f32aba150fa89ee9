// Makes recordings of input sizes, and the logs that hold them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "controller/base/json_lines.h"
#include "controller/inputs/record/recording.h"

namespace causalctl::inputs::test {

// One activation. Instructions are four times the blocks.
struct Call {
  std::uint64_t trms = 0;
  std::uint64_t rms = 0;
  std::uint64_t blocks = 0;
  std::uint64_t own = 0;
  bool is_outermost = true;
  std::uint64_t external = 0;
  std::uint64_t thread = 0;
};

// A run of ./program with one module and two threads, and no routine.
Recording empty_recording(const std::string& run = "5f0c81d2");

// Adds a routine, which is its number × 16 into the module, and returns its number.
std::size_t add_routine(Recording& recording, const std::string& function);

void add_call(Recording& recording, std::size_t routine, std::size_t thread, const Call& call);

// Adds an activation whose sizes are the same by both metrics, and which calls nothing.
void add_plain(Recording& recording, std::size_t routine, std::uint64_t size, std::uint64_t blocks);

// Sets the end of the run.
void end(Recording& recording, std::uint64_t blocks);

// The lines of its log, as docs/inputs-format.md has them.
std::string log_of(const Recording& recording);

// A program that is quadratic (sort_rows, by itself), that has a linear routine (sum), a constant
// one (get), and one with too few sizes (main).
Recording quadratic_program();

}  // namespace causalctl::inputs::test
