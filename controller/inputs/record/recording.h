// What `inputs run` records: for each routine, how often it was activated with each input size, and
// what that cost (input-sensitive profiling, §3: the tuples behind the plots). Passive.
//
// An activation is one call of a routine, from its call to its return, with all that it calls. It
// has two input sizes, both in cells (Recording::cell_bytes): its read memory size (rms, Def. 1)
// and its threaded read memory size (trms, Def. 3). A cost "of its own" leaves out what it called.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace causalctl::inputs {

enum class Metric : std::uint8_t { trms, rms };
enum class CostUnit : std::uint8_t { blocks, instructions };

inline constexpr std::size_t kMetrics = 2;
inline constexpr std::string_view kMetricNames[kMetrics] = {"trms", "rms"};  // by Metric
inline constexpr std::size_t kCostUnits = 2;

// A cost over some activations, in basic blocks or instructions that were executed.
struct Cost {
  std::uint64_t min = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t max = 0;
  std::uint64_t sum = 0;
  double sum_of_squares = 0;
};

// The activations of one routine, in one thread, that had one input size.
struct SizeRow {
  std::uint64_t size = 0;  // cells
  std::uint64_t calls = 0;
  std::array<Cost, kCostUnits> cost;  // by CostUnit; with what it called
  std::array<Cost, kCostUnits> own;
  // Of the activations that were not within another one of the same routine (recursion), the costs'
  // sums. Over all sizes, these add up to no more than the run.
  std::array<std::uint64_t, kCostUnits> outermost{};
  // Cells of the sizes that are induced first-accesses (Def. 2): written by the kernel before, and
  // by another thread. Both are 0 in rows of rms.
  std::uint64_t external = 0;
  std::uint64_t thread = 0;
};

struct Module {
  std::string path;      // as in the program's maps; "[anonymous]" for code that is in no file
  std::string build_id;  // hexadecimal; empty if it has none
};

struct Routine {
  std::size_t module = 0;
  std::uint64_t offset = 0;  // of its first instruction, as `addr2line -e` takes it
  std::string function;      // empty if no symbol covers it
  std::string file;          // where it is declared; empty if that is not known
  std::uint32_t line = 0;
};

struct Thread {
  std::uint32_t number = 0;  // 1 is the first thread; numbers are not used again
  std::string name;
};

// The profile of one routine in one thread.
struct RoutineProfile {
  std::size_t routine = 0;                          // index in Recording::routines
  std::size_t thread = 0;                           // index in Recording::threads
  std::array<std::vector<SizeRow>, kMetrics> rows;  // by Metric; ascending sizes
};

// How the program ended.
struct RunEnd {
  std::string reason;  // "exited", "signal", "interrupted"
  int status = 0;      // exit status, or the number of the signal
};

struct Recording {
  std::string run;  // identity of the run, as in other logs
  std::string host;
  std::vector<std::string> command;
  std::int64_t started_ns = 0;  // since the epoch
  std::uint32_t cell_bytes = 4;
  bool aprof_compatible = false;  // return addresses count, and other choices of aprof
  std::vector<Module> modules;
  std::vector<Routine> routines;
  std::vector<Thread> threads;
  std::vector<RoutineProfile> profiles;
  std::array<std::uint64_t, kCostUnits> total{};  // what the whole program executed
  std::uint64_t events_lost = 0;  // reads and writes that no size has, because memory had run out
  std::optional<RunEnd> end;      // empty if the run was killed
};

}  // namespace causalctl::inputs
