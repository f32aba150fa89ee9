// Which processes a session watches, and how the set changes while it does.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::perf {

class ProcessSet {
 public:
  virtual ~ProcessSet() = default;

  // Returns the members of the present, as /proc tells, in ascending order. None is ours.
  virtual std::vector<Pid> present() = 0;
  // Whether a child of a member is a member from its birth on.
  virtual bool takes_children() const = 0;
  // Whether there can be a new member at any time; otherwise the set ends with its last member.
  virtual bool is_open() const = 0;
  // What records tell of a program that a process runs from now on.
  struct Program {
    std::string_view name;  // the kernel's, as in /proc/PID/comm: the first 15 bytes
    std::string_view file =
        {};  // path of the executable, or of a script's interpreter; "": unknown
  };
  // Tells of a process that has executed a program. Returns whether it is a member. It may be gone
  // by now: a member of which nothing else is known stays one.
  virtual bool after_exec(Pid process, const Program& program, bool is_member) = 0;
  // Tells, once or several times, of a member that comes later, beside so many that are watched.
  // Returns whether it is watched as well.
  virtual bool has_room(Pid process, std::size_t watched) {
    (void)process, (void)watched;
    return true;
  }
};

// One process, without its children.
class OneProcess final : public ProcessSet {
 public:
  explicit OneProcess(Pid process) : process_(process) {}

  std::vector<Pid> present() override { return {process_}; }
  bool takes_children() const override { return false; }
  bool is_open() const override { return false; }
  bool after_exec(Pid, const Program&, bool is_member) override { return is_member; }

 private:
  Pid process_;
};

}  // namespace causalctl::perf
