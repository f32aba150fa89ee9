// Makes pauses out of samples. Engine::step() is the heart of the profiler, called every 2 to 8 ms.
// Its steps, with the rules of docs/virtual-time.md:
//
//   drain the perf rings, in time order        perf::EventSource
//   a sample  → which unit is it in?           Attribution
//             → what its thread earns, now or when its interval ends        Credit, Ledger (rule 1)
//   a switch, a wake-up, a thread's end        Credit: the end of an interval; Ledger (4 to 7)
//   a pause that has ended                     Ledger (rule 3)
//   a visit of a progress point                Counters, stamped in virtual time
//   a thread on a core owes more than the threshold  → pauses               pause::Pauser (rule 8)
//
// mode.h has the modes of the engine and their order; a call that is out of order is a Bug. A pause
// costs the controller some microseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <variant>
#include <vector>

#include "controller/base/types.h"
#include "controller/causal/engine/cadence.h"
#include "controller/causal/engine/core_watch.h"
#include "controller/causal/engine/credit.h"
#include "controller/causal/engine/engine_parts.h"
#include "controller/causal/engine/judge.h"
#include "controller/causal/engine/ledger.h"
#include "controller/causal/engine/mode.h"
#include "controller/causal/engine/own_wake_ups.h"
#include "controller/causal/engine/pause_latency.h"
#include "controller/causal/engine/spinning.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

struct EngineOptions {
  // True if the program is watched from its first instruction to its end, which is the only visit.
  // All threads work for that visit, and it may come soon. The engine then keeps the delay as it
  // was at each visit, for which it asks all threads.
  bool one_unit_of_work = false;
  // A quota of CPU time is taken to be used up from the first step on.
  bool under_quota = false;
  Nanoseconds longest_tick_ns = 8 * kMillisecond;          // Cadence::limit()
  Nanoseconds longest_threshold_ns = kSecond;              // Cadence::limit_threshold()
  std::optional<Nanoseconds> threshold_ns = std::nullopt;  // Cadence::fix_threshold()
};

class Engine {
 public:
  explicit Engine(EngineParts parts, const EngineOptions& options = {});
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Waits for the next tick, then does the work. Now and then it draws sampling periods anew.
  void step();
  // Steps until `done()`, which is called before each step, returns true, or until the deadline.
  template <class Done>
  void run_until(Done&& done, Nanoseconds deadline_ns) {
    while (!done() && parts_.clock.now() < deadline_ns) step();
  }

  // These change the mode, in the order that mode.h states.
  void begin_counting();
  // A `speedup` of 0 makes a baseline. `period_ns` is the mean sampling period.
  void begin_experiment(UnitId unit, double speedup, Nanoseconds period_ns);
  void begin_uniform_pause(double rate,
                           mode::UniformPause::Timing timing = mode::UniformPause::Timing::lazy);
  // Begins to count, since the target has reached its steady state.
  // REQUIRES: the mode is not Idle, and threads are not paying after an experiment.
  void begin_window();
  void stop_earning();  // REQUIRES: the mode is an experiment that earns
  void end();           // ends an experiment or a uniform pause, and forgives all debts
  const Mode& mode() const { return mode_; }

  // Returns what threads that could pay now owe, summed, without debts below the threshold. At 0
  // the experiment may end.
  Nanoseconds open_debt_ns() const;
  // Returns for how long a quota of CPU time has stopped the target in the window.
  Nanoseconds quota_stopped_ns() const {
    return cores_.quota_stops().total_ns() - window_stopped_ns_;
  }
  Nanoseconds delay_ns() const { return ledger_.max_lead() - window_lead_ns_; }
  // Returns the delay as it was at the latest visit, however late the controller saw that: threads
  // that have ended meanwhile do not count in the largest lead. REQUIRES: one_unit_of_work.
  Nanoseconds delay_at_visit_ns() const;
  std::uint64_t samples_in_unit() const { return samples_in_unit_; }  // those in the window

  // Judges what comes from now on: whether it says anything (judge.h).
  void begin_judging() { judge_.begin(cpu_time_ns()); }
  std::string verdict(std::uint64_t lost_records) const {
    return judge_.verdict(cpu_time_ns(), lost_records);
  }

  // Sets what a pause costs its thread besides its length. From now on that counts as paid.
  void set_pause_cost(Nanoseconds cost_ns);
  Nanoseconds pause_cost_ns() const { return pause_cost_ns_; }
  // Checks whether the threads sampled so far were spinning; if they were, pauses come sooner from
  // now on. Returns their share of the samples.
  double check_for_spinning();

  const Ledger& ledger() const { return ledger_; }
  const Cadence& cadence() const { return cadence_; }
  const CoreWatch& cores() const { return cores_; }
  const PauseLatency& sample_to_pause() const { return latency_; }
  CoreTotals core_totals() const;  // CoreWatch::totals(), and whether threads spin
  Nanoseconds cpu_time_ns() const { return cores_.cpu_time_ns(); }
  bool executed_other_program() const { return executed_; }
  // Returns when a thread ended last; 0 if none did.
  Nanoseconds last_exit_ns() const { return last_exit_ns_; }
  // Returns how many samples were in the same cache line as a breakpoint of the point.
  std::uint64_t samples_near_breakpoint(std::uint32_t tag) const {
    const auto found = near_breakpoint_.find(tag);
    return found == near_breakpoint_.end() ? 0 : found->second;
  }

 private:
  void start();
  Nanoseconds passed_ns() const;  // virtual, since the window began
  void begin_window(Nanoseconds passed_ns);
  void apply(const perf::SampleEvent& event);
  void apply(const perf::SwitchEvent& event);
  void apply(const perf::WakeEvent& event);
  void apply(const perf::VisitEvent& event);
  void apply(const perf::ThreadStartEvent& event);
  void apply(const perf::ThreadExitEvent& event);
  void apply(const perf::MapEvent&) {}
  void apply(const perf::ExecEvent& event);
  void apply(const perf::NameEvent&) {}
  void switched_in(const perf::SwitchEvent& event);
  void switched_out(const perf::SwitchEvent& event);
  void note_near_breakpoint(const perf::SampleEvent& event);
  bool spinning(const perf::SampleEvent& event);
  void visit_sampled_points(const Unit& unit, const perf::SampleEvent& event);
  void visit(std::uint32_t tag, Tid thread, Nanoseconds time_ns);
  void earn(Tid thread, Nanoseconds amount_ns, Nanoseconds now_ns);
  bool paused_at(Tid thread, Nanoseconds time_ns) const;
  void pay(const pause::Paid& paid);
  void not_worked(const pause::Paid& paid);
  void lift(Nanoseconds now_ns);
  void request_pauses();
  void redraw_periods();
  Nanoseconds to_next_tick_ns() const;
  Nanoseconds threshold_ns() const;  // a pause is requested for a larger debt

  const mode::Experiment* experiment() const { return std::get_if<mode::Experiment>(&mode_); }
  const mode::UniformPause* uniform() const { return std::get_if<mode::UniformPause>(&mode_); }
  bool is_prompt() const {
    return uniform() != nullptr && uniform()->timing == mode::UniformPause::Timing::prompt;
  }
  bool earns() const {
    return experiment() != nullptr && experiment()->phase == mode::Experiment::Phase::earning;
  }
  bool is_owing() const;
  bool can_begin() const {
    return std::holds_alternative<mode::Idle>(mode_) ||
           std::holds_alternative<mode::Counting>(mode_);
  }

  EngineParts parts_;
  bool one_unit_of_work_;
  Ledger ledger_;
  CoreWatch cores_;
  bool under_quota_;
  Cadence cadence_;
  Credit credit_;
  Spinning spinning_;
  Judge judge_;
  PauseLatency latency_;
  OwnWakeUps wake_ups_;
  Mode mode_ = mode::Idle{};

  Nanoseconds next_tick_ns_ = 0;  // 0 before the first step
  Nanoseconds drawn_at_ns_ = 0;
  Nanoseconds window_from_ns_ = 0;  // visits from here on count
  Nanoseconds window_lead_ns_ = 0;  // the largest lead at that time
  Nanoseconds window_stopped_ns_ = 0;
  std::uint64_t samples_in_unit_ = 0;
  std::optional<UnitId> last_unit_;  // the unit of the latest experiment
  Nanoseconds last_earned_at_ns_ = 0;
  Nanoseconds delay_at_visit_ns_ = 0;
  Nanoseconds pause_cost_ns_ = 0;
  std::vector<pause::Paid> paid_;  // pauses that ended since the last step
  std::unordered_map<Tid, Nanoseconds> waited_in_pause_ns_;
  std::unordered_map<std::uint32_t, std::uint64_t> near_breakpoint_;  // samples, by tag
  bool executed_ = false;  // the target runs another program, without the stub
  Nanoseconds last_exit_ns_ = 0;
};

}  // namespace causalctl::causal
