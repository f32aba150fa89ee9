// Pauses by ptrace-stop: the guardian keeps a thread stopped for the whole pause. It runs no code
// in the target and changes nothing in it. So it serves targets that handle SIGTRAP themselves
// (Go), that are under seccomp, or that run on kernels without sigtrap events. A pause takes
// several more system calls than one by the stub.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "controller/pause/pauser.h"

namespace causalctl::pause {

class PtraceChannel final : public Pauser {
 public:
  PtraceChannel(tracee::Guardian& guardian, Nanoseconds longest_ns)
      : guardian_(guardian), longest_ns_(longest_ns) {}

  void add_thread(Tid tid) override { threads_.insert(tid); }
  void remove_thread(Tid tid) override;
  // A pause under way is neither prolonged nor shortened. The rest of the debt is asked for when it
  // ends; a debt that no longer exists (debt_ns <= 0) counts as not asked for.
  void set_debt(Tid tid, Nanoseconds debt_ns, Nanoseconds now_ns) override;
  std::vector<Paid> collect(Nanoseconds now_ns) override;
  bool pausing(Tid tid) const override { return asked_.contains(tid); }
  bool standing(Tid tid) const override { return pausing(tid); }
  bool idle() const override { return asked_.empty(); }
  PauseTotals totals() const override { return totals_; }
  std::optional<LastPause> last() const override { return last_; }
  std::string name() const override { return "ptrace"; }

 private:
  tracee::Guardian& guardian_;
  Nanoseconds longest_ns_;
  std::unordered_set<Tid> threads_;
  std::unordered_map<Tid, Nanoseconds> asked_;
  PauseTotals totals_;
  std::optional<LastPause> last_;
};

}  // namespace causalctl::pause
