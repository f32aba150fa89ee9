// The sets of processes that a user can name, as a session watches them (perf/process_set.h).
//
//   kind        members                                                    ends
//   processes   those with given PIDs, without their children              with the last
//   children    a process and all below it; they stay when a parent ends   with the last
//   match       those with a name; their children until they exec          never
//   cgroup      those in a cgroup or below it                              never
//   service     those in the cgroup of a systemd unit                      never
//   all         all                                                        never
//
// No set has kernel threads, zombies or causalctl. A set that never ends has none of the processes
// that causalctl has started either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/types.h"
#include "controller/perf/process_set.h"

namespace causalctl::session {

inline constexpr std::size_t kMostProcesses = 10'000;

enum class SetKind : std::uint8_t { processes, children, match, cgroup, service, all };

struct SetDescription {
  SetKind kind = SetKind::all;
  std::vector<Pid> pids;  // of processes; of children: the one above all others
  std::string text;       // of match: a name or glob; of cgroup: a path; of service: a unit
  // Of service: the cgroups of the unit, as /proc/PID/cgroup has them. Of a template there may be
  // others later, beside these.
  std::vector<std::string> cgroups = {};
};

// The processes of causalctl: those given, and all below them.
class OwnProcesses {
 public:
  explicit OwnProcesses(std::vector<Pid> given);

  const std::vector<Pid>& given() const { return given_; }
  std::vector<Pid> now() const;  // in ascending order
  bool have(Pid pid) const;

 private:
  std::vector<Pid> given_;  // in ascending order
};

// Which processes can become members later: none, children of members, or any.
enum class Growth : std::uint8_t { none, children, open };

class BoundedSet : public perf::ProcessSet {
 public:
  bool takes_children() const final { return growth_ != Growth::none; }
  bool is_open() const final { return growth_ == Growth::open; }
  std::vector<Pid> present() final;  // at most `most` of make_process_set()
  bool has_room(Pid process, std::size_t watched) final;
  // Returns a warning if processes were left out because of the bound so far, otherwise "".
  std::string text_of_left_out() const;

 protected:
  friend std::unique_ptr<BoundedSet> make_process_set(const SetDescription&, std::vector<Pid>,
                                                      std::size_t);
  BoundedSet(Growth growth, OwnProcesses ours) : growth_(growth), ours_(std::move(ours)) {}
  const OwnProcesses& ours() const { return ours_; }

 private:
  virtual std::vector<Pid> all_present() = 0;  // in ascending order, without a bound

  Growth growth_;
  OwnProcesses ours_;
  std::size_t most_ = kMostProcesses;
  std::vector<Pid> present_;
  std::size_t left_out_ = 0;   // by one look at /proc, the largest number
  std::set<Pid> had_no_room_;  // of those that came later, as many as are kept
};

// `ours` are processes of causalctl; what they have started is found by /proc. Processes and
// children whose PIDs are not there are no members, nor are later ones with the same numbers. At
// most `most` processes are watched at a time.
std::unique_ptr<BoundedSet> make_process_set(const SetDescription& description,
                                             std::vector<Pid> ours,
                                             std::size_t most = kMostProcesses);

}  // namespace causalctl::session
