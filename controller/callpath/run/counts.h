// Counts all calls of the functions that `--count` names, while samples of the same calls tell
// their paths.
//
// A program in the kernel counts the hits of a uprobe in all threads of the process, those included
// that begin later, and no other process (perf/uprobes.h). Where no such program is permitted, the
// perf events of the threads count; what a thread does before its event is open is then missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "controller/base/fd.h"
#include "controller/base/types.h"
#include "controller/callpath/record/recording.h"
#include "controller/callpath/record/strata.h"
#include "controller/callpath/run/event_cost.h"
#include "controller/callpath/run/watched_events.h"
#include "controller/perf/event_closer.h"
#include "controller/perf/session.h"
#include "controller/perf/uprobes.h"

namespace causalctl::callpath {

class Counts {
 public:
  // Arms the functions among `events`, whose tags are their indices. Throws Error with a hint. What
  // it is given must outlive it.
  Counts(Pid target, const std::vector<WatchedEvent>& events, const perf::Session& session,
         Recording& recording);

  void start(Nanoseconds now_ns);  // counts from now on
  // A thread has begun since the start.
  void thread_began() { thread_began_ = true; }
  // Lets a function go uncounted, and counts it again. Opening takes the kernel a while, in which
  // some of the calls are counted and some are not: these belong to the time that is not counted.
  void close(std::uint32_t tag);
  void open(std::uint32_t tag);
  // A piece ends, which is what counts, or begins, while the function is counted.
  void take(std::uint32_t tag, const Thinning::Step& step);

  bool is_closing() const { return closer_.is_busy(); }  // in the background
  bool has(std::uint32_t tag) const { return function_of(tag) != nullptr; }
  std::uint64_t calls(std::uint32_t tag) const;  // so far, in pieces or not
  // Writes the counts into the recording. `cost_share` is by tag.
  void update(Nanoseconds now_ns, const std::vector<double>& cost_share);

 private:
  struct Function {
    std::uint32_t tag = 0;
    std::vector<Fd> uprobes;  // while it is counted by the kernel's program
    std::uint32_t kernel_tag = 0;
    std::uint64_t closed_calls = 0;  // of earlier times at which it was open
    bool is_open = false;
    std::uint64_t counted_before = 0;     // what counted() was when it was opened
    Strata strata;                        // that have had their pieces
    Nanoseconds stratum_ns = 0;           // since when, or from when on, there is the next one
    std::optional<Nanoseconds> piece_ns;  // since when there is a piece
    std::uint64_t calls_before = 0;       // what calls() was then
    Nanoseconds cpu_before_ns = 0;        // CPU time of the process then
  };

  const Function* function_of(std::uint32_t tag) const;
  Function* function_of(std::uint32_t tag);
  void arm(Function& function);
  std::uint64_t calls(const Function& function) const;
  void write(const Function& function, Nanoseconds now_ns, FunctionCount& count) const;
  std::uint64_t counted(const Function& function) const;  // by the kernel, by what is open
  // The share of the threads' time on cores that the calls of a piece have cost.
  double cost_share(const Function& function, std::uint64_t calls) const;

  Pid target_;
  const std::vector<WatchedEvent>& events_;
  const perf::Session& session_;
  Recording& recording_;
  std::optional<perf::Uprobes> uprobes_;
  std::vector<Function> functions_;
  std::uint32_t next_kernel_tag_ = perf::Uprobes::kMostTags;
  bool thread_began_ = false;
  Nanoseconds start_ns_ = 0;
  perf::EventCloser closer_;
};

}  // namespace causalctl::callpath
