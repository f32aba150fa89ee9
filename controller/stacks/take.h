// Takes registers and stack of threads: of blocked ones without a stop, of others in one that is as
// short as possible, in which the stack is copied. What is taken is unwound after the thread has
// gone on.
//
// Two things are unwound within the stop, which is longer then: by libunwind-ptrace, as a
// reference, and stacks that go on in another place than where the stack pointer is (of a signal
// handler on an alternate stack, say), because only unwinding tells where.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/procfs.h"
#include "controller/base/types.h"
#include "controller/report/stacks/model.h"
#include "controller/tracee/brief_stop.h"
#include "unwind/stack/unwinder.h"

namespace causalctl::stacks {

inline constexpr std::size_t kDeepest = 10'000;  // most addresses of a chain

struct Walk {
  std::vector<Address> chain;  // the instruction pointer, then return addresses
  bool complete = false;
  bool searched = false;   // some callers are guesses
  bool from_copy = false;  // no memory was read later
  bool goes_on = false;    // outside of the copy, where the thread has run on
};

Walk walk_of(const unwind::Chain& chain);

struct ThreadState {
  Tid tid = 0;
  std::string name;
  char state = '?';  // as in procfs::Status
  Nanoseconds cpu_ns = 0;
  std::optional<procfs::OffCore> at;  // of a blocked thread
  report::stacks::Taken taken = report::stacks::Taken::not_read;
  tracee::StopTimes times;
  unwind::Registers registers;
  std::vector<std::byte> stack;
  std::vector<std::string> kernel;  // functions in which a blocked thread waits, innermost first
  std::optional<Walk> walk;         // unwound already, within the stop
  std::string problem;              // why it was not taken, or could not be stopped
  bool gone = false;
};

// Returns the threads, of which the blocked ones are taken. Threads that end meanwhile are left
// out, and so are those that the kernel runs for the process.
std::vector<ThreadState> threads_of(Pid pid, bool read_blocked);
// Adds where in the kernel the threads wait. A thread that waits for something else than when it
// was taken is left as it is.
void take_kernel_stacks(Pid pid, std::vector<ThreadState>& threads);
// Returns why the kernel's stacks cannot be read, or an empty text.
std::string why_no_kernel_stacks();

// Called while the thread stands still.
using Look = std::function<void(ThreadState&)>;
Look copies_stack(Pid pid);
Look unwinds(unwind::Unwinder& unwinder, Pid pid);
Look unwinds_for_reference();

// Stops the threads one after another. Where a thread cannot be stopped, its `problem` says why,
// and what was taken of it stays. Where this process ends meanwhile, the kernel lets them go.
void take_in_stops(Pid pid, const std::vector<ThreadState*>& threads, const Look& look);

}  // namespace causalctl::stacks
