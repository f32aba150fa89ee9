// The processes that BPF programs follow: a bit for each process number, in memory that the
// programs share with us (bpf/watched.h). The program that follows switches adds the children of
// such processes itself, at their birth.
#pragma once

#include "controller/base/fd.h"
#include "controller/base/types.h"

struct WatchedProcesses;  // of bpf/watched.h

namespace causalctl::perf {

class ProcessBits {
 public:
  ProcessBits();  // has no process. Throws Error with a hint if a BPF map cannot be made here.

  void follow(Pid process);  // switches and wake-ups of its threads are recorded from now on
  void sample(Pid process);  // the same, and its threads are sampled
  void leave(Pid process);

  int descriptor() const { return map_.get(); }

 private:
  WatchedProcesses& bits() const;

  Fd map_;
  Mapping memory_;
};

}  // namespace causalctl::perf
