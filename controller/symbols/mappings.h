// Keeps what is known of mappings in step with the samples: a mapping counts from the time at which
// it was made, for names as well as for unwinding.
//
// It follows the records of new mappings. Where these may lack one, at the start and after records
// were lost, it reads all mappings; but samples of before that are still to come, so that what was
// read counts only once events reach its time.
//
// An exec ends all mappings, and each executable mapping of the new program makes a record after it
// (perf_event_mmap() of kernel/events/core.c): the program's and its loader's segments, the vdso.
// So nothing is read then, where the target may already run the next program, or be gone. Until the
// first of these records the thread has the registers of the old program, whose mappings count as
// long. An exec may be told late, after mappings of its program. If no mapping is told for long
// after it, its records are taken for lost: as when the kernel closes the events of a set-user-ID
// program.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "controller/base/procfs.h"
#include "controller/base/types.h"
#include "controller/perf/events.h"

namespace causalctl::symbols {

// What knows of mappings.
class MappingFollower {
 public:
  virtual ~MappingFollower() = default;

  virtual void take(const std::vector<procfs::Map>& maps) = 0;  // all mappings, anew
  virtual void mapped(const perf::MapEvent& event) = 0;         // one executable mapping more
  // The target runs another program: nothing is mapped until it is told.
  virtual void unmap_all() = 0;
};

procfs::Map line_of(const perf::MapEvent& event);  // the line of /proc/PID/maps

// An Unwinder or a Symbolizer as a follower. `followed` must live as long as this object.
template <class Followed>
class Following final : public MappingFollower {
 public:
  explicit Following(Followed& followed) : followed_(followed) {}

  void take(const std::vector<procfs::Map>& maps) override { followed_.refresh(maps); }
  void mapped(const perf::MapEvent& event) override { followed_.mapped(line_of(event)); }
  void unmap_all() override { followed_.unmap_all(); }

 private:
  Followed& followed_;
};

class Mappings {
 public:
  // The followers must live as long as this object.
  Mappings(Pid target, std::vector<MappingFollower*> followers)
      : target_(target), followers_(std::move(followers)) {}

  void read();                                         // the mappings of the present
  void begin_at(std::uint64_t lost) { lost_ = lost; }  // so many records were lost before
  // The process has begun as a child of one with these mappings, which its followers have.
  void begin_like(const Mappings& parent, Nanoseconds born_ns);
  // Reads them if records were lost since the last time, at most once a second. Call it often.
  void lost(std::uint64_t records, Nanoseconds now_ns);
  // Whether it is known what was mapped at this time, which is from the first reading on.
  bool known_at(Nanoseconds time_ns) const { return time_ns >= known_from_ns_; }
  // Returns the first file that was mapped at or after an exec of which it is told late; null if
  // none was yet. Valid until the next event.
  const perf::MapEvent* first_file_since(Nanoseconds exec_ns) const;
  // In time order, but that an exec may be late. Before the sample among the events is looked up.
  void take(const perf::Event& event);

 private:
  struct Snapshot {
    Nanoseconds begin_ns = 0;  // while it was read
    Nanoseconds end_ns = 0;
    std::vector<procfs::Map> maps;
  };

  void tell(const perf::MapEvent& event);
  void executed(Nanoseconds time_ns);
  void unmap_all();

  Pid target_;
  std::vector<MappingFollower*> followers_;
  std::optional<Snapshot> snapshot_;    // that is to count
  Nanoseconds known_from_ns_ = 0;       // 0: nothing was read yet
  Nanoseconds counts_from_ns_ = 0;      // of the latest snapshot that counted; 0: there was none
  std::vector<perf::MapEvent> recent_;  // the latest mappings, before which an exec may be
  Nanoseconds untold_since_ns_ = 0;     // an exec after which no mapping was told yet; 0: none
  std::uint64_t lost_ = 0;
  bool is_due_ = false;
  Nanoseconds next_ns_ = 0;
};

}  // namespace causalctl::symbols
