// Tells whether a target has child processes that do a part of its work: they are not followed, so
// that their visits and samples are missing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::session {

// What was seen of the children from the begin of a run to its end.
struct ChildrenSeen {
  std::vector<Pid> same_program;  // children, and theirs, that run the target's executable
  double cpu_share = 0;  // CPU time of children that have ended, by that of the target without them
};

// Returns a warning, or nullopt if the children do not matter. Pure.
std::optional<std::string> text_of(const ChildrenSeen& seen, Pid target);

class Children {
 public:
  explicit Children(Pid target);  // a run begins

  ChildrenSeen seen() const;  // at its end; of a target that is gone, what was there at the begin

 private:
  struct Ticks {
    std::uint64_t own = 0;
    std::uint64_t ended_children = 0;
  };
  std::optional<Ticks> ticks() const;
  std::vector<Pid> same_program() const;

  Pid target_;
  std::string executable_;
  std::vector<Pid> at_begin_;
  std::optional<Ticks> ticks_at_begin_;
};

}  // namespace causalctl::session
