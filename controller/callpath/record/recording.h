// What a recording of call paths holds, in memory and in the log (docs/callpath-format.md).
// Passive.
//
// Locations are places in files, not addresses of the process: what is unloaded and loaded again
// elsewhere is the same, and a reused address cannot mislead (csprof §2.5.1).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "controller/base/fields.h"
#include "controller/base/types.h"
#include "controller/callpath/record/call_tree.h"
#include "controller/callpath/record/time_account.h"
#include "controller/session/recording.h"

namespace causalctl::callpath {

// The module of code that is in no file, such as what a process compiles at run time. In a set,
// code without a name is of a module of its program, "[anonymous in node]".
inline constexpr const char* kAnonymous = "[anonymous]";
// The module of the kernel's functions, whose locations have no offset but a name.
inline constexpr const char* kKernel = "[kernel]";

struct Module {
  std::string path;      // as in the target's maps; "[anonymous]" for code that is in no file
  std::string build_id;  // in hexadecimal; empty if it has none
};

// A function as source code names it.
struct SourceFrame {
  std::string function;  // demangled; empty if unknown
  std::string file;
  int line = 0;
  std::string home = {};  // the file that the function is declared in; empty if unknown
};

struct Location {
  std::uint32_t module = 0;  // index in Recording::modules
  // As `addr2line -e` takes it; the runtime address where code is in no file. Of a call, the
  // address to which it returns.
  Address offset = 0;
  bool is_call = false;
  // Innermost first: functions that were inlined there, then the one with the code. Empty until it
  // was looked up, and for what is unknown.
  std::vector<SourceFrame> frames;
};

// What became of a call that leads to another function than that of the frame below it
// (tail_search.h).
enum class TailKind : std::uint8_t {
  found,        // the functions between are known
  ambiguous,    // several chains of jumps lead there, or not all could be followed
  unexplained,  // none does
};

// Wherever `callee` is below `call` in the tree.
struct Tail {
  LocationId call = 0;
  LocationId callee = 0;
  TailKind kind = TailKind::found;
  // Where each function that is missing between them jumped on, outermost first; its beginning if
  // it does at several places. Empty unless they were found.
  std::vector<LocationId> jumps;
};

// Returns one number for a call and what is below it, by which a tail is found.
constexpr std::uint64_t pair_of(LocationId call, LocationId callee) {
  return std::uint64_t{call} << 32 | callee;
}

// What is summed for each path. Values after these are events (Recording::events).
enum class Metric : std::uint8_t {
  samples,      // of CPU time
  cpu_ns,       // time on a core
  blocked_ns,   // time in which the thread waited for something
  runnable_ns,  // time in which it waited for a core
  waits,        // times at which it stopped running
  new_min,      // calls that the samples have seen, at least (edges.h); of the last call alone
  new_max,      // the same, at most
  chains,       // what the log has instead of the last two (calls_seen.h)
  new_to,
  new_below,
  stopped_ns,  // time in which the process was stopped, by a signal or its tracer
  frozen_ns,   // time in which its control group was frozen
};
constexpr auto names_of(Metric) {
  return std::array<std::string_view, 12>{"samples", "cpu_ns",    "blocked_ns", "runnable_ns",
                                          "waits",   "new_min",   "new_max",    "chains",
                                          "new_to",  "new_below", "stopped_ns", "frozen_ns"};
}

// An event that the user asked for, which is summed for each path, too.
struct EventMetric {
  std::string name;   // "page-faults", "syscall:write:bytes": as the user wrote it
  std::string unit;   // "faults", "calls", "bytes", "cycles", "sum"
  std::string title;  // for people: "Page faults"

  static constexpr auto fields() {
    return std::tuple{Field("name", &EventMetric::name), Field("unit", &EventMetric::unit),
                      Field("title", &EventMetric::title)};
  }
};

// All calls of a function, as the kernel counts them. The metric of the event says by which paths
// the sampled ones came.
struct FunctionCount {
  std::string event;           // the metric
  std::string function;        // as the user wrote it
  std::uint64_t calls = 0;     // that were counted
  Nanoseconds wall_ns = 0;     // of the recording so far
  Nanoseconds counted_ns = 0;  // of this, when they were counted: less where they cost too much
  Nanoseconds cost_ns = 0;     // what counting one costs its thread
  double cost_share = 0;  // of the time of the thread with the most calls, while they were counted
  std::string missing;    // if some calls are not in it: which, and why
  // Calls in the time in which they were not counted: an estimate without bias, and its 95 % range,
  // whose upper end allows for the time that the traps took.
  double in_gaps = 0, least_in_gaps = 0, most_in_gaps = 0;

  static constexpr auto fields() {
    return std::tuple{Field("event", &FunctionCount::event),
                      Field("function", &FunctionCount::function),
                      Field("calls", &FunctionCount::calls),
                      Field("wall_ns", &FunctionCount::wall_ns, kMoment),
                      Field("counted_ns", &FunctionCount::counted_ns, kMoment),
                      Field("cost_ns", &FunctionCount::cost_ns, kMoment),
                      Field("cost_share", &FunctionCount::cost_share),
                      Field("missing", &FunctionCount::missing, kIfSet),
                      Field("in_gaps", &FunctionCount::in_gaps, kIfSet),
                      Field("least_in_gaps", &FunctionCount::least_in_gaps, kIfSet),
                      Field("most_in_gaps", &FunctionCount::most_in_gaps, kIfSet)};
  }
};

inline constexpr std::size_t kFixedMetrics = names_of(Metric{}).size();
constexpr Metric metric_of_event(std::size_t index) {
  return static_cast<Metric>(kFixedMetrics + index);
}

// A process of a set of which something was recorded, while it runs one program. Once it executes
// another program, it is a further entry with the same pid.
struct Process {
  Pid pid = 0;  // 0: further processes of the program, which share this entry (process_list.h)
  std::string program;  // the base name of its executable; if that is unknown, the kernel's name

  static constexpr auto fields() {
    return std::tuple{Field("pid", &Process::pid), Field("program", &Process::program)};
  }
};

// How many processes of a set ran a program: each once, whatever was recorded of it. A child that
// executes another program did not run that of its parent.
struct ProgramCount {
  std::string program;
  std::uint64_t processes = 0;

  static constexpr auto fields() {
    return std::tuple{Field("program", &ProgramCount::program),
                      Field("processes", &ProgramCount::processes)};
  }
};

// Threads that are told apart in the report.
struct Group {
  std::string name;  // "all", a thread's name, "name (thread 12)", or a place in a file
  // Of threads that are told apart by their start: in the function with which they began, whose
  // name is that of the group once it is known.
  std::optional<LocationId> start = {};
  // Index in Recording::processes. nullopt in a recording of one process.
  std::optional<std::uint32_t> process = {};
};

struct Epoch {
  Nanoseconds start_ns = 0;  // since the start of the run
  std::string reason;        // "start", "dlopen of libz.so.1", "every 10s", …
};

// The values of one metric, in one epoch, of one group of threads.
struct SliceKey {
  std::uint32_t epoch = 0;
  std::uint32_t group = 0;
  Metric metric = Metric::samples;
  auto operator<=>(const SliceKey&) const = default;
};
using Slice = std::unordered_map<NodeId, std::uint64_t>;  // values that are not 0

// What values have grown by in a part of the time.
struct Part {
  Nanoseconds begin_ns = 0;  // since the start of the run
  Nanoseconds end_ns = 0;
  std::map<SliceKey, Slice> slices;
};

// How a chain of samples ended.
struct ChainTotals {
  std::uint64_t complete = 0;    // at the outermost frame
  std::uint64_t incomplete = 0;  // anywhere else; its path hangs below the root like the others
  std::uint64_t no_table = 0;    // of these: in code that no unwind table describes
  std::uint64_t copy_short = 0;  // of these: the stack was deeper than what was copied
  std::uint64_t no_call = 0;     // of these: a return address that follows no call
  std::uint64_t too_deep = 0;    // of these: after as many frames as a chain may have
  std::uint64_t unreadable = 0;  // of these: the caller's frame could not be read
  // Of the complete ones: a caller was searched for on the stack, and may be another.
  std::uint64_t searched = 0;

  static constexpr auto fields() {
    return std::tuple{Field("complete", &ChainTotals::complete),
                      Field("incomplete", &ChainTotals::incomplete),
                      Field("no_table", &ChainTotals::no_table),
                      Field("copy_short", &ChainTotals::copy_short),
                      Field("no_call", &ChainTotals::no_call),
                      Field("too_deep", &ChainTotals::too_deep, kIfSet),
                      Field("unreadable", &ChainTotals::unreadable, kIfSet),
                      Field("searched", &ChainTotals::searched, kIfSet)};
  }
};

// Waits that lasted at least kLongWait.
inline constexpr Nanoseconds kLongWait = kMillisecond;
struct LongWaits {
  std::uint64_t count = 0;
  std::uint64_t complete = 0;  // of these: the path of this very wait was sampled, and is complete

  static constexpr auto fields() {
    return std::tuple{Field("count", &LongWaits::count), Field("complete", &LongWaits::complete)};
  }
};

struct Recording : session::Recording {
  // How a set of processes was named, as "--match nginx"; empty in a recording of one process. Then
  // the pid is that of --children, and 0 otherwise.
  std::string set;
  Nanoseconds period_ns = 0;  // mean CPU time from one sample of a thread to its next
  std::vector<EventMetric> events;
  std::vector<FunctionCount> counts;
  std::vector<Module> modules;
  std::vector<Location> locations;
  std::vector<Process> processes;      // of a set; empty in a recording of one process
  std::vector<ProgramCount> programs;  // of a set; each name once
  std::vector<Group> groups;
  std::vector<Epoch> epochs;
  CallTree tree;
  std::vector<Tail> tails;  // each pair of locations once
  std::map<SliceKey, Slice> slices;
  // The same by time, without the bounds of calls; empty unless the reader was asked for it.
  std::vector<Part> parts;
  // Time blocked by group of threads, and by the paths that waited and that woke them.
  std::map<std::uint32_t, std::map<std::pair<NodeId, NodeId>, std::uint64_t>> wakers;
  ChainTotals chains;
  LongWaits long_waits;
  TimeAccount account;
  double controller_cpu_share = 0;  // of one core

  void add(SliceKey key, NodeId node, std::uint64_t value) {
    if (value > 0) slices[key][node] += value;
  }
  std::string_view name_of_metric(Metric metric) const {
    const auto index = static_cast<std::size_t>(metric);
    return index < kFixedMetrics ? name_of(metric)
                                 : std::string_view(events.at(index - kFixedMetrics).name);
  }
};

}  // namespace causalctl::callpath
