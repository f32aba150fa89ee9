// Samples hits of uprobes, system calls and page faults with registers and stack, in all threads of
// a process or a set, by the BPF programs that count them (uprobes.h). So no hit of a new thread is
// missed, and the number of threads does not matter.
//
// Which hits are sampled is drawn at random, independently of each other. How many hits the samples
// stand for is known exactly: those of a core since its last sample was read are divided among its
// new samples. (By core, because a core whose ring is full makes no more copies.)
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/fd.h"
#include "controller/base/types.h"
#include "controller/perf/cores_online.h"
#include "controller/perf/events.h"
#include "controller/perf/process_bits.h"
#include "controller/perf/sampled_event.h"
#include "controller/perf/sampled_part.h"
#include "controller/perf/uprobes.h"

namespace causalctl::perf {

// What programs can sample; the rest needs an event of each thread.
enum class Sampleable : std::uint8_t { nothing, uprobe, call, page_fault };
Sampleable sampleable(const EventTemplate& event);

class SampledHits {
 public:
  // The hits of `uprobes`, whose programs copy these. (How many bytes of the stack is for it to
  // know.)
  SampledHits(Uprobes uprobes, std::set<Sampleable> kinds)
      : uprobes_(std::move(uprobes)), kinds_(std::move(kinds)) {}

  bool takes(const EventTemplate& event) const { return kinds_.contains(sampleable(event)); }

  // Has hits of the events counted under this tag, and all of them sampled at first, or as many as
  // were when it was closed. What hits while they are being opened does not count. Throws as
  // Uprobes::add() does. REQUIRES: takes() them; the tag is below Uprobes::kRows,
  // and not open.
  void open(std::uint32_t tag, const std::vector<EventTemplate>& events);
  // Ends that. Returns what the caller closes, which takes the kernel a while.
  std::vector<Fd> close(std::uint32_t tag);
  bool has(std::uint32_t tag) const { return events_.contains(tag); }  // it was opened
  void start() { uprobes_.start(); }                                   // hits count from now on

  std::uint64_t count(std::uint32_t tag) const;  // so far, while the tag was open
  // Returns how many hits there were since the last call in the thread with most of them. Threads
  // that share a number (uprobe_thread()) count as one.
  std::uint64_t fresh_of_busiest(std::uint32_t tag);
  std::vector<SampleEvent> read();  // the new samples, whose threads have no serials
  // Samples fewer hits of a tag if there were more samples since the last call than its part of
  // `most`, and more if there were few in each of several calls.
  void adapt(unsigned most);
  // Opens those that are of cores on the cores that are online now, if these are others than
  // before.
  void follow_cores();

 private:
  struct Event {
    bool is_open = false;
    std::vector<EventTemplate> templates{};
    std::vector<Fd> fds{};
    // That of the program, which is another one each time: hits of uprobes that are being closed
    // must not count.
    std::uint32_t kernel_tag = 0;
    std::vector<std::uint64_t> told{};        // of the hits of each core: samples stand for them
    std::vector<std::uint32_t> fresh_from{};  // of each thread, at the last fresh_of_busiest()
    SampledPart part{1, 1};
    unsigned seen = 0;  // samples since adapt()
  };

  std::vector<Fd> open_all(std::uint32_t kernel_tag, const std::vector<EventTemplate>& events);
  std::uint32_t free_kernel_tag();
  void use(const Event& event, std::uint32_t tag);
  void allow_copies();
  void share_out(std::vector<SampleEvent>& samples);

  Uprobes uprobes_;
  std::set<Sampleable> kinds_;
  CoresOnline online_;
  std::map<std::uint32_t, Event> events_;        // by tag, which is the row as well
  std::map<std::uint32_t, std::uint32_t> tags_;  // by kernel_tag
  std::uint32_t next_kernel_tag_ = Uprobes::kMostTags;
};

// Of a process (0: none that uprobes could be of), or of those of `processes` that are sampled if
// there are such. Takes those of the events whose programs were seen to count hits and to copy
// stacks. Returns nullopt, with the `reason`, if that is none.
std::optional<SampledHits> make_sampled_hits(Pid target, std::shared_ptr<ProcessBits> processes,
                                             const std::vector<EventTemplate>& events,
                                             unsigned stack_bytes, std::string& reason);

}  // namespace causalctl::perf
