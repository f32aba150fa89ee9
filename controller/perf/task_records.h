// Births, ends, names, programs and executable mappings of all processes, told by one event for
// each core. So a thread needs no event of its own for that, which the kernel would take off its
// core and put on another one at each switch. Needs the right to look at whole cores
// (CAP_PERFMON).
#pragma once

#include <vector>

#include "controller/perf/cores_online.h"
#include "controller/perf/event.h"
#include "controller/perf/record.h"
#include "controller/perf/ring.h"

namespace causalctl::perf {

class TaskRecords {
 public:
  // Opens the events, disabled. `lockable` is what lockable_pages() returns. Throws Error.
  explicit TaskRecords(std::size_t lockable);

  void start();
  // Tries the events with a thread of our own. Returns whether they told of its birth. REQUIRES:
  // start() comes later.
  bool work();
  bool cores_changed() const { return online_.changed(); }
  // Calls use(const Record&) for each record of any process; each core's are in order of time.
  // Returns how many were malformed.
  template <typename Use>
  std::uint64_t read(Use&& use);

 private:
  struct Core {
    EventFd event;
    Ring ring;
  };

  CoresOnline online_;
  std::vector<Core> cores_;
};

template <typename Use>
std::uint64_t TaskRecords::read(Use&& use) {
  std::uint64_t malformed = 0;
  for (Core& core : cores_) {
    const bool whole = core.ring.consume([&](Bytes bytes) {
      if (const auto record = decode(bytes, {})) {
        use(*record);
      } else {
        ++malformed;
      }
    });
    if (!whole) ++malformed;
  }
  return malformed;
}

}  // namespace causalctl::perf
