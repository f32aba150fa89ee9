// What a recorder has counted and not yet written, by epoch, the oldest first. While the database
// cannot be written it grows up to a bound, beyond which the oldest counts are dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/continuous/record/database.h"

namespace causalctl::continuous {

class Backlog {
 public:
  // `most_places`: of code, the sum over drains. `before`: the number of the epoch before the first
  // one that is begun, if there is one in the database.
  Backlog(std::size_t most_places, std::optional<std::int64_t> before)
      : most_places_(most_places), before_(before) {}

  // What is added from now on is of a new epoch. `name` may be empty.
  void begin_epoch(std::string name, std::int64_t now_ns);
  // REQUIRES: an epoch was begun. Returns how many samples were dropped for want of room.
  std::uint64_t add(Drain drain);
  // Adds a log of call paths to the epoch before the current one; it is dropped if there is none.
  void add_late_paths(std::string log);
  // Throws Error; what was not written stays.
  void write(Database& database);
  // Somebody may remove, move or replace the file, or its folder. Then it is made again, or what is
  // there now is opened; this is told. An epoch that has begun begins there again, with what was
  // not written yet. Returns whether it was so: what was told once is to be told again. Throws
  // Error if it cannot be opened; it may be tried again.
  bool follow_path(Database& database);

  bool is_written() const;  // all of it, and the beginning of the last epoch
  std::uint64_t samples() const;

 private:
  struct PendingEpoch {
    std::string name;
    std::int64_t begin_ns = 0;                // or the end of what was written
    std::optional<std::int64_t> number = {};  // in the database, once it is there
    std::deque<Drain> drains = {};
  };

  std::size_t places() const;
  void begin_anew(std::optional<std::int64_t> before);
  std::uint64_t drop_oldest();

  std::size_t most_places_;
  std::deque<PendingEpoch> epochs_;  // the last one goes on
  std::optional<std::int64_t> before_;
  std::vector<std::pair<std::int64_t, std::string>> late_paths_;  // by number of the epoch
};

}  // namespace causalctl::continuous
