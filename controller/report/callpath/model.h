// What a report of call paths shows, as plain structs: a tree of functions with the values of each
// metric. Inlined functions are frames of their own. Every format renders this model.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::report::callpath {

// The unit of columns that tell of each path how often its last call was made. Unless the column is
// of an event, what is below it does not add to it.
inline constexpr const char* kCalls = "calls";

struct Column {
  std::string name;       // "cpu", "blocked", "samples"
  std::string unit;       // "nanoseconds", "samples", "calls", "bytes"
  std::string title;      // for people: "CPU time"
  bool is_event = false;  // that the user asked for
};

// The name of a frame between a path that waited, and the one that woke it below.
inline constexpr const char* kWokenBy = "[woken by]";

inline constexpr std::uint32_t kNoModule = UINT32_MAX;

// What a frame stands for. One that does not stand for code has only a name.
enum class Stands : std::uint8_t {
  code,
  threads,  // a group of threads
  process,  // one process of a set
  program,  // all processes of a set that run it
};
constexpr auto names_of(Stands) {
  return std::array<std::string_view, 4>{"code", "threads", "process", "program"};
}

struct Frame {
  std::string function;  // "[libz.so.1]", after the module, where nothing better is known
  std::string file;      // empty without line information
  int line = 0;          // where the call is made, or the instruction was executed; 0: unknown
  std::string module;    // path of the file with the code
  Address offset = 0;    // in the module, as `addr2line -e` takes it; within the call
  bool inlined = false;  // into its caller, with which it shares module and offset
  // It has no frame on the stack, since it jumped on to what it calls. It was found by the code.
  bool tail = false;
  bool kernel = false;  // a function of the kernel
  Stands stands = Stands::code;
  std::uint32_t module_number = kNoModule;  // in Profile::modules: builds of a file have one each
  // The file that the function is declared in; empty if the log does not tell, or nothing is known.
  std::string home = {};

  bool is_group() const { return stands != Stands::code; }
};

struct Node {
  std::uint32_t parent = 0;
  std::uint32_t frame = 0;  // index in Profile::frames; means nothing for the root
};

// How the chains of the samples ended.
struct Chains {
  struct Reason {
    std::string text;  // "in code without an unwind table"
    std::uint64_t count = 0;
  };
  std::uint64_t complete = 0;    // at the outermost frame
  std::uint64_t incomplete = 0;  // anywhere else
  std::vector<Reason> reasons;   // of those; not all are known
  // Of the complete ones: no table tells a caller, which was searched for on the stack.
  std::uint64_t searched = 0;
};

// Calls on the sampled paths, once for each sample.
struct TailCalls {
  std::uint64_t calls = 0;
  std::uint64_t found = 0;  // of these: lead to another function over tail calls, which are frames
  std::uint64_t ambiguous = 0;    // over tail calls of which several are possible
  std::uint64_t unexplained = 0;  // in a way that the code does not tell
};

// Part of a run.
struct Epoch {
  std::size_t run = 0;  // counted from 0, as are the epochs of each run
  std::size_t number = 0;
  Nanoseconds start_ns = 0;  // since the start of the run
  Nanoseconds length_ns = 0;
  std::string reason;  // why it began: "dlopen of libz.so.1"
  std::uint64_t cpu_ns = 0;
  std::uint64_t samples = 0;
};

// A program of a set of processes, with all that its processes have in the epochs that are shown,
// whatever filters there are.
struct Program {
  std::string name;
  std::uint64_t processes = 0;
  std::uint64_t cpu_ns = 0;
  std::uint64_t blocked_ns = 0;
};

// How often a function was called, as far as it was counted.
struct Count {
  std::string function;
  std::string column;       // the column with the calls by path
  std::uint64_t calls = 0;  // in the whole time
  bool exact = false;       // otherwise `calls` is an estimate, or some are missing
  // Where it was not always counted: a second, from what was seen to what it may be, as threads are
  // slowed down while they are counted. Otherwise both are the same.
  double per_second = 0;
  double most_per_second = 0;
  double counted_share = 1;  // of the time
  bool too_dear = false;     // it is known only that there were `calls` or more
  Nanoseconds cost_ns = 0;   // what counting one costs its thread
  double cost_share = 0;     // of the time of the busiest thread, while it was counted
  std::string missing;       // which calls are not in it, and why
};

// A finding about the time of a run, which the report tells before its tables: how much of it is
// missing, or was lost to the program.
struct TimeFinding {
  enum class What : std::uint8_t {
    cpu_missing,   // CPU time that the kernel counts, and no path of the report has
    without_path,  // of a column: time that stands at [no call chain]
    stopped,       // the process was stopped by a signal or its tracer
    frozen,        // its control group was frozen
    held_back,     // the quota of its control group was used up
    starved,       // threads that could run waited for a core, without such a quota
  };
  std::size_t run = 0;
  What what = What::cpu_missing;
  std::string column;       // that it is about; empty if it is about all
  std::uint64_t ns = 0;     // that is missing, or was lost
  std::uint64_t of_ns = 0;  // of which this is a part
  std::string text;         // sentences for people; empty if it is too little to tell
};
constexpr auto names_of(TimeFinding::What) {
  return std::array<std::string_view, 6>{"cpu-missing", "without-path", "stopped",
                                         "frozen",      "held-back",    "starved"};
}

struct Profile {
  std::string program;          // path of the executable; of --children that of the PID
  std::string set;              // how another set of processes was named; it has no program
  std::string host;             // empty if several are combined
  Pid pid = 0;                  // 0 if several processes are combined
  std::uint64_t processes = 1;  // all that were recorded, of all runs together
  std::uint64_t runs = 1;
  Nanoseconds started_ns = 0;  // CLOCK_REALTIME
  Nanoseconds wall_ns = 0;
  Nanoseconds period_ns = 0;
  Chains chains;
  TailCalls tail_calls;
  std::vector<Program> programs;  // of sets, those with the most CPU time first; otherwise empty
  std::vector<Count> counts;
  std::vector<TimeFinding> time;  // findings about it
  std::vector<Epoch> epochs;      // those that are shown, in order
  std::vector<Column> columns;    // the first one is what the paths are ranked by
  bool is_part = false;           // only some paths are there, which the user has chosen
  bool first_only = false;        // the text shows the tree of no other column
  bool folds_kernel = false;      // a page shows no functions of the kernel at first
  std::vector<Frame> frames;
  std::vector<Node> nodes;  // a parent comes before its children; the first one is the root
  // What each node has itself, without its children: own[column][node].
  std::vector<std::vector<std::uint64_t>> own;
  std::vector<std::string> build_ids;  // of Profile::modules
  std::vector<std::string> modules;    // paths
  std::vector<std::string> notes;      // what was lost and what is not known, a sentence each
  std::vector<std::string> warnings;
};

// Returns the path of the program, or how the set of processes was named.
inline const std::string& subject_of(const Profile& profile) {
  return profile.set.empty() ? profile.program : profile.set;
}

// Returns the column with this name that is of no event.
std::optional<std::size_t> column_named(const Profile& profile, std::string_view name);

// Returns the profile with another column in front.
Profile ranked_by(Profile profile, std::size_t column);

// Returns for each node the sum over it and all nodes below it. REQUIRES: one value for each node.
std::vector<std::uint64_t> totals(const Profile& profile, std::size_t column);

// Returns the profile without the columns that count calls by path only, for formats that add up
// what is below.
Profile without_calls(Profile profile);

}  // namespace causalctl::report::callpath
