// Tells whether a target has child processes that do a part of its work: they are not followed, so
// that their visits and samples are missing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::session {

struct Child {
  Pid pid = 0;
  std::string name;
  double cpu_s = 0;  // used since the run began
  bool same_program = false;
};

// What was seen of the children, and theirs, from the begin of a run to its end.
struct ChildrenSeen {
  std::vector<Child> alive;  // the busiest first
  double ended_cpu_s = 0;    // of those that have ended and were waited for
  double own_cpu_s = 0;      // of the target without them, since the run began
};

// Returns a warning, or nullopt if the children do not matter. `record_one` is how one of them is
// recorded, before its PID. Pure.
std::optional<std::string> text_of(const ChildrenSeen& seen, Pid target, const char* record_one);

class Children {
 public:
  explicit Children(Pid target);  // a run begins

  // At its end. Of a target that is gone, what was there at the begin; of one that nobody has
  // waited for yet, all.
  ChildrenSeen seen() const;

 private:
  struct Used {
    double own_s = 0;
    double ended_children_s = 0;
  };
  static std::optional<Used> used_by(Pid pid);
  std::vector<Child> alive() const;

  Pid target_;
  std::string executable_;
  std::map<Pid, double> cpu_s_at_begin_;
  std::vector<Child> at_begin_;
  std::optional<Used> used_at_begin_;
};

}  // namespace causalctl::session
