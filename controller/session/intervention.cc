#include "controller/session/intervention.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"
#include "controller/perf/kept_open.h"
#include "controller/session/facilities.h"
#include "controller/session/target_end.h"
#include "controller/tracee/adoption.h"

namespace causalctl::session {
namespace {

constexpr Nanoseconds kDigestPatience = kSecond;

std::vector<tracee::CodeBytes> code_now(Pid target, const std::vector<Address>& places) {
  return tracee::code_of(target, procfs::maps(target).value_or(std::vector<procfs::Map>()), places);
}

void warn_of_filter(const std::vector<Trial>& tried, Recording& recording) {
  for (const Trial& trial : tried) {
    if (trial.facility != Facility::bpf || trial.outcome != Outcome::never_fired) continue;
    recording.warnings.push_back(
        fmt::format("shots are not held back in the kernel ({}): /proc is read before each of them",
                    trial.finding));
  }
}

// Closes events in a thread of its own, because the kernel needs some time to take their uprobes
// out of the target's text.
std::jthread close_beside(const std::function<void()>& close, const Precedence& precedence) {
  try {
    return std::jthread([&close, &precedence] {
      const auto boost = precedence.boost();
      close();
    });
  } catch (const std::system_error&) {
    close();
    return {};
  }
}

}  // namespace

Intervention::Intervention(Pid target, tracee::Guardian& guardian, Precedence& precedence,
                           Recording& recording)
    : target_(target), guardian_(guardian), recording_(recording), precedence_(precedence) {}

void Intervention::begin(const std::vector<Address>& places) {
  places_ = places;
  precedence_.begin();
  before_ = guardian_.digest(places_);
  code_before_ = code_now(target_, places_);
}

const pause::PauserChoice& Intervention::open_pauses(const pause::PauserOptions& options,
                                                     const tracee::EndWatch& end) {
  try {
    pauses_ = pause::make_pauser(target_, guardian_, options);
  } catch (const TargetGone& gone) {
    throw_with_cause(gone, guardian_, end, recording_.counting);
  }
  log::verbose("a pause by {} costs its thread {} µs besides", pauses_.pauser->name(),
               pauses_.pause_cost_ns / 1000);
  record(pauses_.tried, recording_);
  if (!pauses_.tried.empty()) log::verbose("tried for pauses: {}", describe(pauses_.tried));
  if (!pauses_.reason.empty()) {
    recording_.warnings.push_back("pauses by ptrace: " + pauses_.reason);
  }
  warn_of_filter(pauses_.tried, recording_);
  return pauses_;
}

bool Intervention::must_end() {
  if (!outranked_ && !precedence_.lost().empty()) {
    outranked_ = true;
    recording_.warnings.push_back(fmt::format("{}. The run was ended early", precedence_.lost()));
  }
  return outranked_ || guardian_.was_killed();
}

void Intervention::abandon() {
  pauses_.pauser.reset();
  for (const std::string& problem : guardian_.restore()) log::note("{}", problem);
}

void Intervention::end(const std::function<void()>& close_events,
                       const std::vector<Address>& uprobes) {
  const bool killed_before = guardian_.was_killed();
  if (killed_before) recording_.warnings.emplace_back(kGuardianKilled);
  if (recording_.reason == EndReason::first_thread_ended) {
    recording_.warnings.push_back(tracee::first_thread_ended(target_));
  }
  restore(close_events);
  if (!killed_before && guardian_.was_killed()) {
    recording_.warnings.emplace_back(kGuardianKilledAtEnd);
  }
  compare_digests(uprobes);
}

void Intervention::restore(const std::function<void()>& close_events) {
  if (pauses_.pauser) {
    for (std::string& notice : pauses_.pauser->notices()) {
      recording_.warnings.push_back(std::move(notice));
    }
  }
  pauses_.pauser.reset();  // so that no shot can fire from here on
  std::jthread closing = close_beside(close_events, precedence_);
  left_ = guardian_.restore();
  if (closing.joinable()) closing.join();
  // Not before: the thread that closes them holds locks of the kernel for which the others wait.
  perf::close_kept([priority = precedence_.priority()] {
    return std::make_shared<tracee::PriorityBoost>(0, priority);
  });
  recording_.left_in_target = !left_.empty();
  recording_.stopped_calls = guardian_.stopped_calls();
}

// Where another process may have a uprobe at a place of ours, what stays there is its own.
std::vector<std::string> Intervention::changes_in(const tracee::Digest& after,
                                                  const std::vector<Address>& uprobes) const {
  auto changes = tracee::differences(before_, after);
  if (changes.empty()) return changes;
  const bool others = tracee::perf_events_elsewhere(std::array{getpid(), guardian_.helper()});
  const auto own = others ? std::vector<Address>() : uprobes;
  for (const std::string& name :
       tracee::changed_by_uprobes(code_before_, code_now(target_, places_), own)) {
    std::erase_if(changes, [&](const std::string& each) { return each.starts_with(name + ": "); });
  }
  return changes;
}

void Intervention::compare_digests(const std::vector<Address>& uprobes) {
  auto& warnings = recording_.warnings;
  if (recording_.reason == EndReason::target_exited || procfs::has_ended(target_)) {
    recording_.digest = DigestResult::unknown;
    warnings.insert(warnings.end(), left_.begin(), left_.end());
    return;
  }
  // Some changes pass, as when a signal is just stopping a thread, or the mask while a thread is
  // made.
  const Nanoseconds until_ns = monotonic_now() + kDigestPatience;
  auto after = guardian_.digest(places_);
  auto changes = changes_in(after, uprobes);
  while (!changes.empty() && monotonic_now() < until_ns) {
    sleep_until(monotonic_now() + kMillisecond);
    after = guardian_.digest(places_);
    changes = changes_in(after, uprobes);
  }
  if (procfs::has_ended(target_)) {
    recording_.digest = DigestResult::unknown;
    warnings.emplace_back("the target ended while it was left");
    return;
  }
  for (const std::string& change : tracee::own_changes(before_, after)) {
    log::verbose("the target itself has changed: {}", change);
  }
  recording_.digest = changes.empty() && left_.empty() ? DigestResult::same : DigestResult::changed;
  for (const std::string& change : changes) warnings.push_back("target state: " + change);
  warnings.insert(warnings.end(), left_.begin(), left_.end());
}

}  // namespace causalctl::session
