// Reads the file that `valgrind --tool=callgrind --dump-instr=yes --collect-jumps=yes
// --skip-plt=no` writes (Valgrind's manual, "Callgrind Format Specification"): the exact executions
// of instructions and jumps, from which frequencies follow (DCPI, section 6.1, takes them from
// samples, which an out-of-order processor does not allow).
//
// A cost line belongs to the instruction at its address. The line after `calls=` is inclusive: it
// is the cost of what was called, and is not counted here. Each part of a file ends with the sum of
// its own costs (`totals:`), by which a file that is cut off, or misread, is found.
//
// True of Valgrind 3.19 on x86-64, beyond the manual:
// - Addresses are those of link time wherever the code lies in memory, for programs that are
//   position-independent, for those that are not, and for libraries. An object is the file of the
//   last `ob=`.
// - Only code of an object's .text is taken for the object's. Code of its .init, .plt and .fini is
//   in the object "???", at the address where it lay in memory, as is code without a file.
// - Compressed positions refer to the last line of own cost. Neither the target of a jump or a call
//   nor the line after it changes what they refer to. Names stay known from part to part.
// - `jcnd=TAKEN/EXECUTED TARGET` has how often the conditional jump was taken, then how often it
//   was executed. A jump is within one object; where control leaves an object or a function by a
//   jump, it is `calls=`.
// - An instruction with a `rep` prefix is counted for each iteration, and for the test that ends
//   it, and has a jump onto itself after each iteration. The count is kept as it is; less these
//   jumps it is how often the program came to the instruction.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "controller/continuous/record/exact_counts.h"

namespace causalctl::continuous {

// The name of the object that has the code which is in none.
inline constexpr std::string_view kNoObject = "???";
inline constexpr std::uint64_t kLargestCallgrindFile = 1ULL << 30U;
// Of instructions, jumps and calls together. They take at most some 600 MB of memory.
inline constexpr std::size_t kMostCallgrindPlaces = 8'000'000;

struct CallgrindObject {
  ExactCounts counts = {};  // as they are in the file
  // From instructions to functions of the object. A jump to the beginning of a function, be it its
  // own, is a call to callgrind.
  Jumps calls = {};
  // Calls into "???": from the calling instruction, to an address in memory. Of the instructions
  // that lead there directly, each tells how far from its link-time addresses an object lay.
  std::set<Jump> calls_elsewhere = {};
};

struct CallgrindFile {
  std::string command = {};                             // that was counted
  std::map<std::string, CallgrindObject> objects = {};  // by path
};

// How to write a file that can be read here: for hints.
std::string callgrind_command();

// `name` is that of the file, for messages. Throws Error, with the line, if the text is not of that
// form, is cut off, has no counts of instructions, or has too many places. Pure.
CallgrindFile read_callgrind(std::string_view text, const std::string& name);

}  // namespace causalctl::continuous
