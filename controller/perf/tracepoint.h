// Finds the description of the tracepoint sched:sched_waking, and reads its raw data.
//
// It fires in the thread that wakes another one. Layout and id come from the `format` file of
// tracefs, because they differ between kernels. Sources: Documentation/trace/events.rst,
// include/linux/trace_events.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "controller/base/types.h"
#include "controller/perf/events.h"
#include "controller/perf/record.h"

namespace causalctl::perf {

struct WakingFormat {
  std::uint64_t id = 0;
  std::size_t flags_offset = 0;  // common_flags, 1 byte
  std::size_t waker_offset = 0;  // common_pid, 4 bytes
  std::size_t woken_offset = 0;  // pid, 4 bytes
};

struct Waking {
  Tid waker = 0;
  Tid woken = 0;
  WakeContext context = WakeContext::task;
};

std::optional<WakingFormat> parse_waking_format(std::string_view text);  // pure
// Its threads are numbered as in the initial pid namespace. Pure.
std::optional<Waking> parse_waking(Bytes raw, const WakingFormat& format);

// Returns nullopt with the `reason` and what to do.
std::optional<WakingFormat> find_waking_format(std::string& reason);

// Keeps a disabled event of the tracepoint open on the calling thread until causalctl ends; later
// calls do nothing. The kernel takes 70 ms, and now and then seconds, to close the last event of a
// tracepoint, because it waits until no core can be in the tracepoint any more. Call it before an
// event that is only tried and closed.
void keep_one_open(const WakingFormat& format);

// Reads wake-ups, and numbers threads as records do, which is as our own pid namespace does. In a
// container each wake-up tells the waker's two numbers; a woken thread that was never seen as a
// waker is unknown (0).
class WakingReader {
 public:
  explicit WakingReader(WakingFormat format) : format_(format) {}

  std::optional<Waking> read(const SampleRecord& record);  // nullopt: it is malformed
  void forget(Tid tid);

 private:
  WakingFormat format_;
  // From the number in the initial pid namespace to that in ours. Empty where they are the same.
  std::unordered_map<Tid, Tid> local_tids_;
};

}  // namespace causalctl::perf
