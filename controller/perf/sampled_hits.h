// Samples hits of uprobes with registers and stack, in all threads of a process, by the BPF program
// that counts them (uprobes.h). So no hit of a new thread is missed, and the number of threads does
// not matter.
//
// Which hits are sampled is drawn at random, independently of each other. How many hits the samples
// stand for is known exactly, by the count: those since the reading before are divided among the
// samples of one reading.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/fd.h"
#include "controller/base/types.h"
#include "controller/perf/events.h"
#include "controller/perf/uprobe_place.h"
#include "controller/perf/uprobes.h"

namespace causalctl::perf {

class SampledHits {
 public:
  // Throws as Uprobes does.
  SampledHits(Pid target, Uprobes::Means means, unsigned stack_bytes)
      : uprobes_(target, means, stack_bytes) {}

  // Has hits at the places counted under this tag, and one of `every` sampled at first. Throws as
  // Uprobes::add() does. REQUIRES: the tag is not open.
  void open(std::uint32_t tag, const std::vector<UprobePlace>& places, std::uint32_t every);
  // Ends that. Returns what the caller closes, which takes the kernel a while.
  std::vector<Fd> close(std::uint32_t tag);
  bool has(std::uint32_t tag) const { return events_.contains(tag); }  // it was opened
  void start() { uprobes_.start(); }                                   // hits count from now on

  std::uint64_t count(std::uint32_t tag) const;  // so far, while the tag was open
  // Returns how many hits there were since the last call in the thread that has most samples, by
  // its share of them; all hits if there is no sample.
  std::uint64_t fresh_of_busiest(std::uint32_t tag);
  // Returns the samples since the last call, whose threads have no serials.
  std::vector<SampleEvent> read();
  // Samples fewer hits of a tag if there were more than `most` samples since the last call, and
  // more if there were few in each of several calls.
  void adapt(unsigned most);

 private:
  struct Event {
    bool is_open = false;
    // That of the program, which is another one each time: hits of uprobes that are being closed
    // must not count.
    std::uint32_t kernel_tag = 0;
    std::vector<Fd> fds{};
    std::uint64_t counted_from = 0;             // what the program's count was when it was opened
    std::uint64_t closed_count = 0;             // of earlier times at which it was open
    std::uint64_t told = 0;                     // of count(): samples stand for them
    std::uint64_t fresh_from = 0;               // of count(), at the last fresh_of_busiest()
    std::map<Tid, std::uint64_t> samples_of{};  // since then
    std::uint32_t every = 1;
    unsigned seen = 0;       // samples since adapt()
    unsigned few_calls = 0;  // of adapt(), one after the other
  };

  std::uint64_t count(const Event& event) const;
  void share_out(Event& event, std::vector<SampleEvent*>& samples);

  Uprobes uprobes_;
  std::map<std::uint32_t, Event> events_;        // by tag
  std::map<std::uint32_t, std::uint32_t> tags_;  // by kernel_tag
  std::uint32_t next_kernel_tag_ = Uprobes::kMostTags;
};

// Returns nullopt, with the `reason`, where the program was not seen to count hits and to copy
// stacks.
std::optional<SampledHits> make_sampled_hits(Pid target, unsigned stack_bytes, std::string& reason);

}  // namespace causalctl::perf
