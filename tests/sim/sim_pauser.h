// A pause::Pauser on the simulated machine. It follows the rules of the sigtrap channel
// (controller/pause/sigtrap_channel.h); the machine plays kernel and stub.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "controller/pause/pauser.h"
#include "tests/sim/machine.h"

namespace causalctl::sim {

class SimPauser final : public pause::Pauser {
 public:
  // `arming_ns` is the time from set_debt until the running thread's shot counts its CPU time.
  // If `arrives` is false, the kernel loses every shot.
  SimPauser(Machine& machine, const pause::PauserOptions& options, Nanoseconds arming_ns,
            bool arrives = true)
      : machine_(machine), options_(options), arming_ns_(arming_ns), arrives_(arrives) {}

  void add_thread(Tid tid) override { threads_.try_emplace(tid); }
  void remove_thread(Tid tid) override { threads_.erase(tid); }
  void stand_awake(bool on) override { machine_.spin_in_stub(on); }
  void set_debt(Tid tid, Nanoseconds debt_ns, Nanoseconds now_ns) override;
  std::vector<pause::Paid> collect(Nanoseconds now_ns) override;
  bool pausing(Tid tid) const override;
  bool standing(Tid tid) const override;
  bool idle() const override { return standing_ == 0; }
  pause::PauseTotals totals() const override { return totals_; }
  std::string name() const override { return "simulated"; }

 private:
  struct Pausing {
    bool armed = false;
    bool awake = false;  // true if the pause that it is armed for spins
    bool standing = false;
    Nanoseconds paid_total_ns = 0;  // as collect() last read it
    Nanoseconds owed_total_ns = 0;  // as last written
  };

  Machine& machine_;
  pause::PauserOptions options_;
  Nanoseconds arming_ns_;
  bool arrives_;
  std::map<Tid, Pausing> threads_;
  unsigned standing_ = 0;
  pause::PauseTotals totals_;
};

}  // namespace causalctl::sim
