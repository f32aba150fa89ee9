// What `causalctl stacks` shows, as plain structs: what each thread of a process, or of each
// process of a set, does at this moment. The JSON report shows the whole model.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/types.h"
#include "controller/report/callpath/model.h"

namespace causalctl::report::stacks {

using callpath::Frame;

enum class State : std::uint8_t {
  running,          // on a core, or waiting for one
  blocked,          // sleeping: a signal would wake it
  uninterruptible,  // sleeping, in the kernel: on a disk, mostly
  stopped,          // by a signal
  traced,           // stopped by its tracer
  ended,            // a zombie
  unknown
};
constexpr auto names_of(State) {
  return std::array<std::string_view, 7>{"running", "blocked", "uninterruptible", "stopped",
                                         "traced",  "ended",   "unknown"};
}

enum class Taken : std::uint8_t {
  not_read,      // `remark` says why
  without_stop,  // it was blocked before and after
  in_a_stop      // it was stopped for that
};
constexpr auto names_of(Taken) {
  return std::array<std::string_view, 3>{"not-read", "without-stop", "in-a-stop"};
}

struct Thread {
  Tid tid = 0;
  std::string name;
  State state = State::unknown;
  std::string waits_in;    // the system call, and what it waits for: "read(3: pipe:[42])"
  Nanoseconds cpu_ns = 0;  // since it began
  Taken taken = Taken::not_read;
  Nanoseconds held_ns = 0;     // in_a_stop: how long it stood still, as far as is known
  Nanoseconds at_most_ns = 0;  // in_a_stop: it stood still for no longer
  std::vector<Frame> frames;   // innermost first
  bool complete = false;       // the last frame is the outermost
  bool searched = false;       // some callers were searched for on the stack, and are guesses
  std::string remark;          // why it is not complete, or not read
};

struct Process {
  Pid pid = 0;
  std::string name;
  std::string program;          // path of the executable
  Nanoseconds taken_ns = 0;     // CLOCK_REALTIME
  std::vector<Thread> threads;  // running ones first
  std::vector<std::string> warnings;
};

// A process of a set that has no stacks.
struct NotRead {
  Pid pid = 0;
  std::string name;
  bool ended = false;  // before its stacks were taken
  std::string reason;
};

// What stands in the document of a set besides its processes.
struct SetHead {
  std::string text;  // how the set was named, and its size: "--match nginx (5 processes)"
  std::vector<NotRead> not_read;
  std::vector<std::string> warnings;
};

struct TextOptions {
  bool each = false;  // every thread by itself; otherwise threads with one stack are shown together
  bool times = false;  // how each stack was taken, and how long that took
  bool color = false;
};

// Returns groups of indices of threads that are shown together: of one state and name, with equal
// frames. Groups are in the order of their first threads. Pure.
std::vector<std::vector<std::size_t>> groups_of(const std::vector<Thread>& threads);

std::string render_text(const Process& process, const TextOptions& options);
std::string render_text(const NotRead& process);  // one line
std::string render_json(const Process& process);
// `processes` are those of the set with stacks, each as render_json() has it.
std::string render_json(const SetHead& head, const std::vector<std::string>& processes);

}  // namespace causalctl::report::stacks
