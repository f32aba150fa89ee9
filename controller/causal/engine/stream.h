// How a sample becomes a pause. Stream::step() is the heart of the profiler, called by Ticker every
// 2 to 8 ms; the rules are those of docs/virtual-time.md:
//
//   drain the perf rings, in time order        perf::EventSource
//   a sample  → which unit is it in?           Attribution
//             → what its thread earns, now or when its interval ends        Credit, Ledger (rule 1)
//   a switch, a wake-up, a thread's end        Credit: the end of an interval; Ledger (4 to 7)
//   a pause that has ended                     Ledger (rule 3)
//   a visit of a progress point                Counters, stamped in virtual time
//   who is on a core and owes more than the threshold?  → pauses            pause::Pauser (rule 8)
//
// Between begin() and end() there is an experiment, in a baseline with nothing to earn; outside of
// one the same records are drained and decoded, so that the cost of watching is always the same.
// What pausing costs the controller besides is some microseconds a pause.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/types.h"
#include "controller/causal/engine/attribution.h"
#include "controller/causal/engine/cadence.h"
#include "controller/causal/engine/core_account.h"
#include "controller/causal/engine/credit.h"
#include "controller/causal/engine/ledger.h"
#include "controller/causal/engine/quota_stops.h"
#include "controller/causal/engine/shared_cores.h"
#include "controller/causal/engine/spinning.h"
#include "controller/causal/record/evidence.h"
#include "controller/causal/record/experiment.h"
#include "controller/pause/pauser.h"
#include "controller/perf/event_source.h"
#include "controller/progress/counters.h"

namespace causalctl::causal {

struct StreamParts {
  Clock& clock;
  perf::EventSource& session;
  pause::Pauser& pauser;
  Attribution& attribution;
  progress::Counters& counters;
  std::vector<std::pair<std::string, std::uint32_t>> sampled_points;  // "file:line" → tag
  Nanoseconds shot_cost_ns = 0;
  int cores = 1;                                        // on which the target may run
  std::function<std::optional<Nanoseconds>()> idle_ns;  // theirs, since some moment; may be empty
  std::vector<Address> breakpoints;                     // armed by debug register
  std::vector<Nanoseconds> visit_costs_ns;  // of one visit, by tag: what is not there is not known
  Spinning::Read read_target;
  std::vector<PointCode> point_codes{};         // by tag
  std::function<TargetState()> target_state{};  // now; may be empty
  std::function<CpuLimits()> cpu_limits{};      // of the target, now; may be empty

  Nanoseconds visit_cost_ns(std::uint32_t tag) const {
    return tag < visit_costs_ns.size() ? visit_costs_ns[tag] : 0;
  }
};

class Stream {
 public:
  explicit Stream(StreamParts parts);

  // Waits for the next tick, then does the work. `late_ns` of the result: how late the controller
  // itself was; an experiment during which it was very late says nothing.
  struct Step {
    Nanoseconds late_ns = 0;
  };
  Step step();

  // A uniform pause: for `rate` of the time all threads stand still, and nothing is faster. Ended
  // by end(), like an experiment. `prompt`: pauses come as soon as they can, and not in step with
  // what the target does.
  void begin_uniform_pause(double rate, bool prompt = false);
  // What a pause costs its thread besides, from now on counted as paid.
  void set_pause_cost(Nanoseconds cost_ns) { pause_cost_ns_ = cost_ns; }
  Nanoseconds pause_cost_ns() const { return pause_cost_ns_; }
  // Ticks are at most so long (cadence.h).
  void limit_tick(Nanoseconds longest_ns) { cadence_.limit(longest_ns); }
  void fix_threshold(std::optional<Nanoseconds> threshold_ns) {
    cadence_.fix_threshold(threshold_ns);
  }
  void limit_threshold(Nanoseconds longest_ns) { cadence_.limit_threshold(longest_ns); }
  void begin_counting();  // counts visits from now on, outside of an experiment
  // speedup 0: a baseline. `period_ns`: of sampling, on average.
  void begin(UnitId unit, double speedup, Nanoseconds period_ns);
  // From here on the experiment counts: what came before was the way into the steady state.
  void begin_window();
  void stop_earning() { earning_ = false; }
  // What threads that could pay now owe, summed, without debts below the threshold; 0: the
  // experiment may end.
  Nanoseconds open_debt_ns() const;
  void end();  // forgives all debts

  Nanoseconds delay_ns() const { return ledger_.max_lead() - window_lead_ns_; }
  // The same as it was at the latest visit, however late the controller saw it: the largest lead
  // has no threads that have ended meanwhile. Kept where note_delay_at_visits() has asked for it,
  // for each visit asks all threads.
  void note_delay_at_visits() { notes_delay_ = true; }
  Nanoseconds delay_at_visit_ns() const { return delay_at_visit_ns_; }
  std::uint64_t samples_in_unit() const { return samples_in_unit_; }  // of the window
  Nanoseconds core_wait_ns() const { return ledger_.core_wait_ns(); }
  // Caused by other processes, without what the controller takes. May fall for a moment: clamp
  // differences.
  Nanoseconds foreign_wait_ns() const { return ledger_.foreign_wait_ns() - core_wait_for_us_ns_; }
  // For how long a quota has stopped the target in the window.
  Nanoseconds quota_stopped_ns() const { return quota_stops_.total_ns() - window_stopped_ns_; }
  Nanoseconds stalled_ns() const { return ledger_.stalled_ns(); }
  std::uint64_t waits_ended_by_known() const { return ledger_.waits_ended_by_known(); }
  std::uint64_t waits_ended_externally() const { return ledger_.waits_ended_externally(); }
  Nanoseconds mean_wait_ns() const { return ledger_.mean_wait_ns(); }
  Nanoseconds mean_debt_ns() const { return ledger_.mean_debt_ns(); }
  Nanoseconds cpu_time_ns() const { return cpu_time_ns_; }  // of the target, by its samples
  // Ever growing; may fall for a moment where it says so above.
  CoreUse core_use() const;
  CoreTotals core_totals() const;
  bool throttled() const { return throttled_; }           // as of the last check
  Nanoseconds sample_to_pause_ns(double quantile) const;  // 0: there was no pause
  // The program is watched from its first instruction to its end, which is the only visit: all its
  // threads work for it, and it may end soon.
  void run_is_one_unit_of_work();
  // Checks whether the threads sampled so far were spinning; if they were, pauses come sooner from
  // now on. Returns their share of the samples.
  double check_for_spinning();
  bool executed_other_program() const { return executed_; }
  Nanoseconds last_exit_ns() const { return last_exit_ns_; }  // of a thread; 0: none
  std::uint64_t samples_near_breakpoint() const { return near_breakpoint_; }

 private:
  void apply(const perf::SampleEvent& event);
  void apply(const perf::SwitchEvent& event);
  void apply(const perf::WakeEvent& event);
  void apply(const perf::VisitEvent& event);
  void apply(const perf::ThreadStartEvent& event);
  void apply(const perf::ThreadExitEvent& event);
  void apply(const perf::MapEvent& event);
  void apply(const perf::ExecEvent& event);
  bool near_breakpoint(const perf::SampleEvent& event) const;
  bool spinning(const perf::SampleEvent& event);
  void visit(std::uint32_t tag, Tid thread, Nanoseconds time_ns);
  void earn(Tid thread, Nanoseconds amount_ns, Nanoseconds now_ns);
  bool paused_at(Tid thread, Nanoseconds time_ns) const;
  Nanoseconds stolen_by_us(const perf::SwitchEvent& event, Nanoseconds stolen_ns) const;
  void note_latency(const pause::Paid& paid);
  void request_pauses();
  void check_for_strangers();
  Nanoseconds used_cpu_ns() const { return cpu_time_ns_ + standing_cpu_ns_; }
  CoreAccount::Now account_of(const CoreUse& use) const;
  void not_worked(const pause::Paid& paid);
  void lift(Nanoseconds now_ns);
  Nanoseconds to_next_tick_ns() const;
  Nanoseconds threshold_ns() const;  // of a debt, above which a pause is requested

  StreamParts parts_;
  Ledger ledger_;
  Nanoseconds pause_cost_ns_ = 0;
  double pause_rate_ = 0;
  bool prompt_ = false;
  Nanoseconds lifted_at_ns_ = 0;
  Nanoseconds core_wait_for_us_ns_ = 0;
  SharedCores shared_cores_;
  QuotaStops quota_stops_;
  Nanoseconds stopped_wait_ns_ = 0;  // waits in such moments, summed over threads
  CoreUse checked_;                  // as it was at the last check
  Nanoseconds idle_before_ns_ = 0;   // the attach
  CoreAccount account_{{}};
  bool spin_ = false;                // threads wait by spinning
  bool whole_ = false;               // the run is one unit of work
  Nanoseconds standing_cpu_ns_ = 0;  // used by pauses
  bool awake_ = false;               // pauses use CPU time
  bool throttled_ = false;
  std::unordered_map<Tid, Nanoseconds> waited_in_pause_ns_;
  Nanoseconds next_tick_ns_ = 0;
  Nanoseconds window_from_ns_ = 0;  // visits from here on count
  Nanoseconds window_lead_ns_ = 0;  // the largest lead at that time
  Nanoseconds window_stopped_ns_ = 0;
  Cadence cadence_;
  Credit credit_;
  Spinning spinning_;
  bool surveyed_ = false;
  std::optional<UnitId> unit_;
  std::optional<UnitId> last_unit_;
  bool earning_ = false;
  bool owing_ = false;  // something was earned since begin(): debts may exist
  bool notes_delay_ = false;
  Nanoseconds delay_at_visit_ns_ = 0;
  std::uint64_t samples_in_unit_ = 0;
  Nanoseconds cpu_time_ns_ = 0;
  std::uint64_t near_breakpoint_ = 0;
  Nanoseconds last_earned_at_ns_ = 0;
  std::unordered_map<Tid, Nanoseconds> asked_for_sample_at_ns_;
  std::vector<Nanoseconds> sample_to_pause_ns_;
  bool executed_ = false;
  Nanoseconds last_exit_ns_ = 0;
  std::vector<pause::Paid> paid_;  // since the last step
  struct WakeUp {                  // of the controller
    Nanoseconds at_ns = 0;
    std::uint32_t core = 0;
  };
  std::array<WakeUp, 16> wake_ups_{};  // the latest, in no order
  std::size_t steps_ = 0;
};

}  // namespace causalctl::causal
