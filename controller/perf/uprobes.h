// Counts the visits of places by uprobes, in all threads of a process, present and future.
//
// A uprobe stands in the memory of a process, for all threads, but a perf event of it reports only
// one thread. An event for each thread and place would take the kernel some 50 ms each to close. So
// a BPF program reports the hits of all threads through one ring, by one of two means:
//
//   links   one link holds all places in a file (BPF_TRACE_UPROBE_MULTI, Linux 6.6). It is closed
//           in one grace period of the kernel, some 40 ms, however many places it has.
//   events  one perf event a place, whose program runs for all threads (Linux 5.15). The kernel
//           closes one after the other.
//
// The tracepoints of system calls and software events, such as page faults, are counted in the same
// way, of any set of processes, because a perf event of each thread is taken off its core and put
// on another one by the kernel at each switch.
//
// The program can copy the stacks of some hits, as samples. It does so where a perf event that is
// sampled would be needed for each thread and place.
//
// All are kernel objects that end with us: the kernel then takes its int3 out of the target.
// Sources: bpf(2); kernel/trace/bpf_trace.c, kernel/trace/trace_uprobe.c.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "controller/base/fd.h"
#include "controller/base/types.h"
#include "controller/perf/bpf/stack_copy.h"
#include "controller/perf/bpf/uprobe_hits.h"
#include "controller/perf/events.h"
#include "controller/perf/process_bits.h"
#include "controller/perf/uprobe_place.h"

namespace causalctl::perf {

struct UprobeHit {
  Tid tid = 0;
  Nanoseconds time_ns = 0;
  std::uint32_t tag = 0;
};

class Uprobes {
 public:
  enum class Means : std::uint8_t { links, events, none };
  static constexpr std::uint32_t kMostTags = 256;
  // Hits of tags from kMostTags on are counted, and not in the ring.
  static constexpr std::uint32_t kMostCountedTags = 2 * kMostTags;

  struct Copies {                              // of hits, as samples
    unsigned stack_bytes = 0;                  // of each; 0: none will be wanted
    std::uint32_t most_pieces = STACK_PIECES;  // for which a core has room
    bool of_calls = false;  // of system calls and software events, too; that needs the kernel's BTF
  };
  // Loads the programs. Hits count in those of `processes` that are sampled; null: in `target`,
  // whose uprobes alone can be had; 0: there are none. Without `means` there are no uprobes. Throws
  // Error with a hint if BPF is not permitted, the kernel is too old, or the target's threads have
  // other numbers here than in the kernel (pid namespaces).
  Uprobes(Pid target, Means means) : Uprobes(target, means, Copies()) {}
  Uprobes(Pid target, Means means, const Copies& copies,
          std::shared_ptr<ProcessBits> processes = nullptr);
  ~Uprobes();  // takes a grace period of the kernel for a link, or for each event
  Uprobes(Uprobes&&) noexcept;
  Uprobes& operator=(Uprobes&&) noexcept;

  // Adds all of them, or, if it throws, none. Hits before start() are not counted. Throws Error
  // with error_number() kNotSupported if a uprobe cannot stand on one of the instructions.
  // REQUIRES: each tag is below kMostCountedTags.
  void add(const std::vector<UprobePlace>& places);
  // The same, but the uprobes stand until the caller closes what is returned, in its order.
  [[nodiscard]] std::vector<Fd> open(const std::vector<UprobePlace>& places);
  // Adds the tracepoint with this id; the tag is as for add().
  void add_call(std::uint64_t tracepoint, std::uint32_t tag);
  // The same, as open(). `with_result`: the call ends there, and SampleEvent::number is its result.
  [[nodiscard]] std::vector<Fd> open_call(std::uint64_t tracepoint, std::uint32_t tag,
                                          bool with_result);
  void keep(std::vector<Fd> opened);  // open as long as this object
  // Opens a software event on all cores that are online; `what` is for messages.
  [[nodiscard]] std::vector<Fd> open_on_cores(const perf_event_attr& event, std::uint32_t tag,
                                              const std::string& what);
  void start();

  // Appends the hits since the last call, each thread's in order. Returns how many were lost since
  // then because the ring was full; count() includes them.
  std::uint64_t read(std::vector<UprobeHit>& hits);
  std::uint64_t count(std::uint32_t tag) const;  // since start()

  // The rest is there if copies are wanted.
  static constexpr std::uint32_t kRows = UPROBE_ROWS;
  struct Use {
    std::optional<std::uint32_t> row = {};  // in which hits are counted by core and thread besides
    std::uint32_t copied_every = 0;         // one of so many hits is copied, on average; 0: none
  };
  void set_use(std::uint32_t tag, const Use& use);  // of the hits of this tag from now on
  // Until the next call so many hits of the tag may be copied; any number before the first.
  void allow_copies(std::uint32_t tag, std::uint32_t most);
  std::size_t cores() const;
  std::uint64_t count_of_core(std::uint32_t row, std::size_t core) const;
  // By numbers of threads (uprobe_thread()); they count up to 2^32.
  std::span<const std::uint32_t> counts_of_threads(std::uint32_t row) const;
  // Appends the copies since the last call, as samples with the tag, whose threads have no serials.
  // Where a core has no room, its next hits are not copied until this is called.
  void read_copies(std::vector<SampleEvent>& into);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace causalctl::perf
