#include "controller/callpath/lives.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "controller/base/clock.h"
#include "controller/base/error.h"

namespace causalctl::callpath {
namespace {

constexpr Nanoseconds kSurvey = 2 * kSecond;
constexpr std::uint64_t kSurveySamples = 200;  // fewer choose nothing
constexpr std::size_t kMostTargets = 24;       // so that each is watched some ten times a second
constexpr std::size_t kMostAtOnce = 3;         // threads of which a word is watched at one time
constexpr Nanoseconds kWatched = 10 * kMillisecond;
// A return is seen late, by the trap and what it takes until the clock is read; so this many times
// what that takes here counts as too short.
constexpr Nanoseconds kDelays = 2;

}  // namespace

void Lives::sampled(const perf::SampleEvent& sample, const unwind::Chain& chain, NodeId node) {
  if (!rounds_) survey_.take(sample.thread, chain, node, recording_.tree);
}

void Lives::take(const perf::Event& event) {
  if (const auto* change = std::get_if<perf::SwitchEvent>(&event)) {
    changed(change->thread, change->kind, change->time_ns);
  } else if (const auto* wake = std::get_if<perf::WakeEvent>(&event)) {
    woken(*wake);
  } else if (const auto* exit = std::get_if<perf::ThreadExitEvent>(&event)) {
    states_.erase(exit->thread);
    const auto found = registers_.find(exit->thread);
    if (found != registers_.end()) {
      const auto& watched = found->second.watched;
      if (watched) rounds_->done(watched->probe, LifeRounds::Found::unclear, 0);
      registers_.erase(found);
    }
    if (rounds_) {
      rounds_->thread_ended(exit->thread, exit->time_ns - start_ns_);
    } else {
      survey_.thread_ended(exit->thread);
    }
  } else if (std::holds_alternative<perf::ExecEvent>(event)) {
    executed(std::get<perf::ExecEvent>(event).time_ns);
  }
}

void Lives::changed(ThreadId thread, perf::SwitchKind kind, Nanoseconds time_ns) {
  State& state = states_[thread];
  const bool left = kind == perf::SwitchKind::out_blocked;
  if (left && perf::may_be_early(state.woken_ns, time_ns)) kind = perf::SwitchKind::out_preempted;
  state.kind = kind;
  const auto found = registers_.find(thread);
  if (found == registers_.end() || !found->second.watched) return;
  Watched& watched = *found->second.watched;
  if (time_ns <= watched.since_ns) watched.state = kind;
}

// From then on it waits for a core, as one that was preempted does.
void Lives::woken(const perf::WakeEvent& wake) {
  const auto found = states_.lower_bound({wake.woken, 0});
  if (found == states_.end() || found->first.tid != wake.woken) return;
  if (found->second.kind == perf::SwitchKind::in) found->second.woken_ns = wake.time_ns;
  if (found->second.kind != perf::SwitchKind::out_blocked) return;
  changed(found->first, perf::SwitchKind::out_preempted, wake.time_ns);
}

// Another program has no call of those that are watched, and a survey of both would mix them.
void Lives::executed(Nanoseconds time_ns) {
  for (auto& [thread, each] : registers_) {
    if (each.watched) rounds_->done(each.watched->probe, LifeRounds::Found::unclear, 0);
  }
  registers_.clear();
  if (rounds_) rounds_->stop_all(time_ns - start_ns_);
  survey_ = {};
  begin_ns_ = 0;
}

void Lives::step(Nanoseconds now_ns, Nanoseconds drained_ns) {
  if (begin_ns_ == 0) begin_ns_ = now_ns;
  if (!rounds_) {
    if (now_ns - begin_ns_ < kSurvey || survey_.samples() < kSurveySamples) return;
    begin(now_ns);
  }
  std::size_t at_once = 0;
  for (auto& [thread, each] : registers_) {
    if (each.watched && !has_ended(each, now_ns, drained_ns)) ++at_once;
  }
  for (; at_once < kMostAtOnce; ++at_once) {
    const auto probe =
        rounds_->next([this, now_ns](ThreadId thread) { return may_watch(thread, now_ns); });
    if (!probe) break;
    watch(*probe);
  }
}

void Lives::begin(Nanoseconds now_ns) {
  const Nanoseconds period_ns = std::max<Nanoseconds>(1, recording_.period_ns);
  const double moments = static_cast<double>(now_ns - begin_ns_) / static_cast<double>(period_ns);
  rounds_.emplace(survey_.places(kMostTargets, moments), seed_);
  recording_.watched.watched_ns = kWatched;
  recording_.watched.precision_ns = kDelays * perf::slot_watch_delay();
  survey_ = {};
}

void Lives::update() {
  if (rounds_) recording_.watched.calls = rounds_->watched();
}

void Lives::finish() {
  if (!rounds_) {
    recording_.warnings.push_back(
        fmt::format("--sentinel: no calls were watched: they are chosen from the samples of "
                    "{} s, at least {}, and there were {}",
                    kSurvey / kSecond, kSurveySamples, survey_.samples()));
  } else if (rounds_->watched().empty()) {
    recording_.warnings.push_back(
        "--sentinel: no calls were watched, as none was found that comes and goes, and "
        "mostly has its return address at the same place of the stack");
  }
}

// A thread that waited for a core at that moment, perhaps because causalctl had it, does not count:
// what was left of its call would be as long as it had to wait.
bool Lives::has_ended(Register& each, Nanoseconds now_ns, Nanoseconds drained_ns) {
  const Watched& watched = *each.watched;
  if (drained_ns <= watched.since_ns) return false;
  const auto hit = each.watch.hit();
  if (!hit && now_ns - watched.since_ns < kWatched) return false;
  LifeRounds::Found found = LifeRounds::Found::nothing;
  Nanoseconds life_ns = 0;
  const LifeTarget& target = watched.probe.target;
  if (watched.state == perf::SwitchKind::out_preempted) {
    found = LifeRounds::Found::unclear;
  } else if (hit && hit->ip == target.back && hit->sp == target.slot + sizeof(Address)) {
    // It may have been armed for some microseconds when the clock was read.
    life_ns = std::max<Nanoseconds>(0, hit->time_ns - watched.since_ns);
    if (life_ns <= kWatched) found = LifeRounds::Found::life;
  }
  const LifeRounds::Probe probe = watched.probe;
  each.watch.stop();
  each.watched.reset();
  rounds_->done(probe, found, life_ns);
  return true;
}

// After each look a thread rests until the longest one would be over. Otherwise there would be more
// looks while its calls come and go than while it does something else.
bool Lives::may_watch(ThreadId thread, Nanoseconds now_ns) {
  const auto found = registers_.find(thread);
  return found == registers_.end() || (!found->second.watched && now_ns >= found->second.free_ns);
}

void Lives::watch(const LifeRounds::Probe& probe) {
  const ThreadId thread = probe.target.thread;
  const auto gone = [&] { rounds_->done(probe, LifeRounds::Found::unclear, 0); };
  try {
    auto found = registers_.find(thread);
    if (found == registers_.end()) {
      auto opened = perf::SlotWatch::open(thread.tid);
      if (!opened) return gone();
      found = registers_.emplace(thread, Register{std::move(*opened)}).first;
    }
    Watched watched{probe};
    const auto state = states_.find(thread);
    if (state != states_.end()) watched.state = state->second.kind;
    const auto since_ns = found->second.watch.watch(probe.target.slot);
    if (!since_ns) return gone();
    watched.since_ns = *since_ns;
    found->second.free_ns = *since_ns + kWatched;
    found->second.watched = watched;
  } catch (const Error& error) {
    gone();
    rounds_->thread_ended(thread, monotonic_now() - start_ns_);
    registers_.erase(thread);
    if (!std::exchange(told_, true)) {
      recording_.warnings.push_back(fmt::format(
          "--sentinel: calls of thread {} are watched no longer: {}", thread.tid, error.what()));
    }
  }
}

}  // namespace causalctl::callpath
