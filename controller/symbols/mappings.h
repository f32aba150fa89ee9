// Keeps what is known of mappings in step with the samples: a mapping counts from the time at which
// it was made, for names as well as for unwinding.
//
// It follows the records of new mappings. Where these may lack one, at the start and after records
// were lost, it reads all mappings; but samples of before that are still to come, so that what was
// read counts only once events reach its time.
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
  virtual void read_again() = 0;  // reads what is mapped: the target runs another program
};

procfs::Map line_of(const perf::MapEvent& event);  // the line of /proc/PID/maps

// An Unwinder or a Symbolizer as a follower. `followed` must live as long as this object.
template <class Followed>
class Following final : public MappingFollower {
 public:
  explicit Following(Followed& followed) : followed_(followed) {}

  void take(const std::vector<procfs::Map>& maps) override { followed_.refresh(maps); }
  void mapped(const perf::MapEvent& event) override { followed_.mapped(line_of(event)); }
  void read_again() override { followed_.refresh(); }

 private:
  Followed& followed_;
};

class Mappings {
 public:
  // The followers must live as long as this object.
  Mappings(Pid target, std::vector<MappingFollower*> followers)
      : target_(target), followers_(std::move(followers)) {}

  void read();  // the mappings of the present
  // Reads them if records were lost since the last time, at most once a second.
  void lost(std::uint64_t records, Nanoseconds now_ns);
  // Whether it is known what was mapped at this time, which is from the first reading on.
  bool known_at(Nanoseconds time_ns) const { return time_ns >= known_from_ns_; }
  // In time order, before the sample among the events is looked up.
  void take(const perf::Event& event);

 private:
  struct Snapshot {
    Nanoseconds begin_ns = 0;  // while it was read
    Nanoseconds end_ns = 0;
    std::vector<procfs::Map> maps;
  };

  Pid target_;
  std::vector<MappingFollower*> followers_;
  std::optional<Snapshot> snapshot_;  // that is to count
  Nanoseconds known_from_ns_ = 0;     // 0: nothing was read yet
  std::uint64_t lost_ = 0;
  bool is_due_ = false;
  Nanoseconds next_ns_ = 0;
};

}  // namespace causalctl::symbols
