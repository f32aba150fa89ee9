// Does jobs that may block, such as writing to a pipe whose reader has stopped, on a thread of its
// own, one after the other. Nobody who has something in a target waits for them.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>

#include "controller/base/types.h"

namespace causalctl {

inline constexpr Nanoseconds kForEver = std::numeric_limits<Nanoseconds>::max();
// How long a job may take that does not block.
inline constexpr Nanoseconds kAsidePatience = 20 * kMillisecond;

class Aside {
 public:
  Aside();
  // Does not wait. Jobs that are left are done as long as the process lives.
  ~Aside();
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

  // Gives a job, which must not throw and must own what it uses. `bytes` is what it keeps in
  // memory. Where the thread cannot be started, the job is done at once.
  void give(std::function<void()> job, std::size_t bytes);
  // Waits for all jobs. Returns false if some are left after this time.
  bool wait(Nanoseconds patience_ns) const;
  std::size_t jobs() const;   // that are not done
  std::size_t bytes() const;  // of these

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace causalctl
