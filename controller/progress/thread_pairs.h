// Requests of a latency whose begin and end are passed on one thread: their lengths, and the mean
// of them. Pure.
//
// A request counts in the window in which it ends, with its whole length, so that requests are not
// left out for being as long as a window. Its begin must have been seen, in this window or before.
// A thread whose first visit of all is an end had a request that began before counting did, unless
// it never begins one: such an end counts, and only its length is not known.
//
// Two means have the same expectation:
//   - that of the lengths of requests that end in the window. It is exact where all are alike. If
//     few are much longer than the others, it is one value or another by whether such a one ends.
//   - the time in flight within the window, over the requests that end in it (Little's law). There
//     the long ones count in each window by what of them is in it, but an end that is just outside
//     moves it.
// So it is the second where a request of the window is much longer than the mean, or of unknown
// length, and otherwise the first.
//
// A begin without an end may have been given up. It is in flight until it is twice as old as any
// request that has ended.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::progress {

struct PairedLatency {
  std::uint64_t ends = 0;               // of requests that were in flight for certain
  Nanoseconds mean_ns = 0;              // 0: none has ended
  std::vector<Nanoseconds> lengths_ns;  // of those whose begin was seen, sorted
};

class ThreadPairs {
 public:
  // Times are virtual, since the start of the window.
  void begin(Tid thread, Nanoseconds now_ns);
  void end(Tid thread, Nanoseconds now_ns);
  // One of before the start, as is told only now. It does not count.
  void late_begin(Tid thread, Nanoseconds ago_ns) { begin(thread, -ago_ns); }
  void late_end(Tid thread);
  // A thread is born, so it has no request of before.
  void thread_began(Tid thread) { workers_[thread].was_seen = true; }
  void thread_ended(Tid thread);
  // A window starts, at this time of the one before. What is in flight stays.
  void start(Nanoseconds passed_ns);

  PairedLatency paired(Nanoseconds length_ns) const;  // `length_ns`: of the window

 private:
  struct Since {
    Nanoseconds begun_ns = 0;   // in this window; 0 if before
    Nanoseconds before_ns = 0;  // how long before the window

    explicit Since(Nanoseconds now_ns);
    Nanoseconds age_ns(Nanoseconds now_ns) const;
    void start(Nanoseconds passed_ns);  // of another window
  };
  struct Ended {  // in the window
    std::vector<Nanoseconds> lengths_ns;
    Nanoseconds within_ns = 0;  // what of them was in the window; summed

    void add(const Ended& other);
  };
  struct Worker {             // a thread
    std::uint32_t open = 0;   // begun and not ended
    bool began_last = false;  // not ended, since
    bool overlaps = false;    // it was seen to have two open; for good
    bool was_seen = false;    // it was born, or has had a visit
    bool has_begun = false;
    std::optional<Since> begun;  // the open one
    Ended ended;
    // Of the request that began before counting did: when it ended in the window, and its age, as
    // far as it was watched.
    std::optional<Nanoseconds> unseen_end_ns;
    Nanoseconds unseen_age_ns = 0;
  };

  // Returns the length and what of it was in the window; nullopt if the begin was not seen.
  struct Length {
    Nanoseconds all_ns = 0, within_ns = 0;
  };
  std::optional<Length> close(Worker& worker, Nanoseconds now_ns);

  std::unordered_map<Tid, Worker> workers_;
  Ended of_ended_threads_;
  std::optional<Since> watched_;  // the first visit of all
  Nanoseconds longest_ns_ = 0;    // of those that have ended, ever
};

}  // namespace causalctl::progress
