// Tells what a thread earns by running the selected unit, and when. Pure.
//
// A sample in the unit is worth speedup x the CPU time that it stands for (Coz eq. 4). If the
// program synchronises more finely than it is sampled, that comes in lumps: one execution of a
// critical section of 0.2 ms is credited with 1 ms, four others with nothing, and threads that wait
// for the lock can use no more than they waited. So between two meetings (the thread blocks, is
// woken, or wakes another one) a thread earns what is *expected* of such an interval. That is its
// CPU time, known exactly from the switch records, times the share of the unit in the thread's
// intervals of the same kind (how they begin and end) and about the same length. The shares are
// ratios of sampled time to CPU time, and are learned during the run. All intervals together earn
// the same as by samples, without bias.
//
// An interval longer than `smooth_below` is credited at once, sample by sample, because lumps are
// small compared with it, and pauses must not wait for its end. A thread that leaves its core in
// the middle of an interval may leave it to another thread, which goes on from there. So it is
// given what was sampled so far, and that is deducted from what is expected at the end of the
// interval.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

#include "controller/base/types.h"

namespace causalctl::causal {

class Credit {
 public:
  // A new experiment on the same unit keeps what was learned, unless `forget` is set.
  void begin(double speedup, Nanoseconds smooth_below_ns, bool forget);

  void end() { learning_ = false; }  // samples earn nothing until the next begin()

  // Each of these returns what the thread has earned by the event, as time. The result is negative
  // if the thread was given too much before, and 0 for a thread that was never seen.
  Nanoseconds sampled(Tid thread, bool in_unit, Nanoseconds period_ns, Nanoseconds now_ns);
  Nanoseconds woke_another(Tid thread, Nanoseconds now_ns);
  Nanoseconds blocked(Tid thread, Nanoseconds now_ns);

  Nanoseconds left_core(Tid thread, Nanoseconds now_ns);  // because it is preempted or paused by us
  // `stolen_ns` is the time for which the controller had the thread's core. A faster unit loses
  // less to it, so this time counts as the thread's own. `kept_off_ns` is the time for which
  // strangers (ledger.h) kept the thread from a core, `stolen_ns` included. Strangers get a fair
  // share of the cores, so a thread that needs less CPU time waits for a core proportionally less.
  // It therefore earns the wait times the unit's share of its latest CPU time, at once, before it
  // wakes any thread.
  Nanoseconds switched_in(Tid thread, Nanoseconds stolen_ns, Nanoseconds now_ns,
                          Nanoseconds kept_off_ns = 0);
  // `cpu_ns` of the CPU time up to now was used by a pause, not by the program.
  void paused(Tid thread, Nanoseconds cpu_ns);
  void end_thread(Tid thread) { threads_.erase(thread); }

 private:
  enum class Edge : std::uint8_t { woken, woke };  // how an interval begins; ends: blocked, woke
  struct Share {
    Nanoseconds unit_ns = 0;
    Nanoseconds cpu_ns = 0;
  };
  static constexpr std::size_t kLengths = 12;
  // Indexed by begin, end and length.
  using Shares = std::array<std::array<std::array<Share, kLengths>, 2>, 2>;
  struct Thread {
    bool running = false;
    Nanoseconds running_since_ns = 0;
    Nanoseconds stolen_ns = 0;  // since its last sample
    // These describe the present interval.
    Edge began = Edge::woken;
    Nanoseconds cpu_ns = 0;    // CPU time before running_since
    Nanoseconds unit_ns = 0;   // time of its samples in the unit
    Nanoseconds given_ns = 0;  // what is credited already, before the speedup is applied
    Shares shares{};
    double sampled_ns = 0, in_unit_ns = 0;  // sums in which older samples count less
  };

  double expected_share(const Share& own, const Share& all) const;  // REQUIRES: all.cpu_ns > 0
  Nanoseconds give(Thread& thread, double due_ns);
  static std::size_t length_class(Nanoseconds cpu_ns);
  static Nanoseconds cpu_now(const Thread& thread, Nanoseconds now_ns);
  Nanoseconds close(Thread& thread, std::size_t end, Nanoseconds now_ns);

  std::unordered_map<Tid, Thread> threads_;
  Shares all_threads_{};
  bool learning_ = false;
  double speedup_ = 0;
  Nanoseconds smooth_below_ns_ = 0;
};

}  // namespace causalctl::causal
