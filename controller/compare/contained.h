// A command in containment: whatever it starts, in whatever group or session, ends with it.
//
// Each has a *supervisor*, a helper process that is its parent, and, by PR_SET_CHILD_SUBREAPER, the
// new parent of all its descendants that lose theirs (daemons). So nothing leaves the family, and
// "no child left" (ECHILD) is the proof that nothing runs on. The supervisor ends the family when
// it is told to, and when the channel to us closes: our own death, also by SIGKILL, leaves nothing
// behind. The command dies with its supervisor (PR_SET_PDEATHSIG), and what is orphaned by the
// supervisor's own death comes to us, because we are a subreaper, too (SubreaperScope). A
// supervisor that the command has stopped is continued when it is told to end the family, and by
// our death.
//
// A process that has changed its user to one that we may not signal is not ended.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/fd.h"
#include "controller/base/helper_process.h"
#include "controller/base/types.h"

namespace causalctl::compare {

struct Command {
  std::vector<std::string> words;
  std::map<std::string, std::string> environment;  // added to ours
  std::string directory;                           // empty: ours
  std::vector<unsigned> cpus;                      // empty: all that we may use
  std::optional<int> nice;
};

// How a command ended, and what was used by it and by its descendants that ended before it
// (getrusage(2)); CPU time also of those whose end nobody waited for.
struct Ended {
  int status = 0;           // as wait(2) gives it
  Nanoseconds wall_ns = 0;  // from just before its start
  Nanoseconds cpu_ns = 0;
  // Peak resident memory of the largest process. 0: it is not known, because it was less than what
  // a process of ours has before it becomes the command.
  std::uint64_t peak_bytes = 0;
  std::uint64_t switches = 0;
  bool succeeded() const;
  std::string text() const;  // "exit status 3", "killed by SIGSEGV"
};

class Contained {
 public:
  // Starts it in a session of its own, without input; its output goes to a file in memory.
  // Throws UsageError that names the command if it cannot be executed. `grace_ns` is the time from
  // SIGTERM to SIGKILL. `what` names the command in messages.
  Contained(const Command& command, Nanoseconds grace_ns, std::string what);
  ~Contained();  // ends it
  Contained(const Contained&) = delete;
  Contained& operator=(const Contained&) = delete;

  Pid pid() const { return pid_; }
  std::vector<Pid> family() const;  // of the command and all that it has started, those that live
  // Waits until it has ended, or the deadline or a signal has come. Returns nullopt if it runs.
  // Throws Error if the supervisor was killed.
  std::optional<Ended> wait_until(Nanoseconds deadline_ns);
  std::optional<Ended> ended() { return wait_until(0); }

  // Returns what it has written so far, standard output and error mixed: at most a MiB from `start`
  // on. All of it is there that was not released.
  std::string output(std::uint64_t start = 0) const;
  std::string output_tail() const;  // the last lines, indented, for messages

  // From now on the output before `end` is kept only if it is of the newest MiB. wait_until() gives
  // back what is older, every few milliseconds while the command writes much.
  void release_output(std::uint64_t end = std::numeric_limits<std::uint64_t>::max()) {
    released_ = end;
  }
  std::uint64_t stored_bytes() const;  // of its output

  // Sends SIGTERM to the command; when it has ended, or after the grace, to what is left; then
  // SIGKILL. Returns when nothing of it runs any more; once causalctl was asked to end, after 0.3 s
  // at the latest, upon which the supervisor goes on alone. Throws Error if something could not be
  // ended.
  void end();
  // How many of its processes ran on when it had ended by itself, until end() ended them.
  unsigned outlived() const { return outlived_; }

 private:
  void wake_supervisor() const;
  bool is_supervisor_stopped() const;
  void kill_supervisor();
  void leave_to_supervisor();
  void forget_supervisor();
  std::uint64_t written() const;  // bytes of output
  // Returns false when the deadline or a signal has come.
  bool wait_for_message(Nanoseconds deadline_ns);
  bool trim();  // returns whether the output is larger than what is kept

  std::optional<HelperProcess> supervisor_;
  Pid pid_ = 0;
  Fd output_;
  std::uint64_t released_ = 0;  // bytes at the beginning that nobody reads any more
  std::uint64_t trimmed_ = 0;   // bytes at the beginning that were given back
  Nanoseconds grace_ns_;
  std::string what_;
  std::optional<Ended> ended_;
  unsigned outlived_ = 0;
};

// While it lives, orphans of our descendants come to us; at its end those that came are killed and
// reaped. Does nothing in a process that has children already. REQUIRES: nothing else waits for
// children.
class SubreaperScope {
 public:
  SubreaperScope();
  ~SubreaperScope();
  SubreaperScope(const SubreaperScope&) = delete;
  SubreaperScope& operator=(const SubreaperScope&) = delete;

 private:
  bool active_;
};

}  // namespace causalctl::compare
