#include "controller/session/facilities.h"

#include <fmt/format.h>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/perf/trials.h"

namespace causalctl::session {
namespace {

// Throws if the event never fired. A refused one is left to the session, which names the thread.
void refuse_without(const Trial& trial, std::string_view wanted, std::string_view instead) {
  if (trial.outcome != Outcome::never_fired) return;
  std::string hint =
      "this machine, or what it runs in, does not let perf events fire: profile on another one";
  if (!instead.empty()) hint += fmt::format(", or use {}, which needs no samples", instead);
  if (trial.facility == Facility::sample) {
    throw Error(fmt::format("no {} is possible here: a sampling event on ourselves was {}", wanted,
                            trial.finding),
                hint);
  }
  if (trial.facility == Facility::clock) {
    throw Error(
        fmt::format("no {} is possible here, for want of a clock: an event on ourselves: {}",
                    wanted, trial.finding),
        hint);
  }
}

}  // namespace

std::string describe(const std::vector<Trial>& trials) {
  std::vector<std::string> each;
  for (const Trial& trial : trials) {
    each.push_back(fmt::format("{} {}", name_of(trial.facility), name_of(trial.outcome)));
    if (!trial.is_seen()) each.back() += fmt::format(" ({})", trial.finding);
  }
  return fmt::format("{}", fmt::join(each, ", "));
}

std::vector<Trial> try_facilities(std::string_view wanted, std::string_view instead) {
  const Nanoseconds start_ns = monotonic_now();
  auto trials = perf::try_all();
  log::verbose("tried on ourselves in {:.1f} ms: {}",
               static_cast<double>(monotonic_now() - start_ns) / kMillisecond, describe(trials));
  for (const Trial& trial : trials) refuse_without(trial, wanted, instead);
  return trials;
}

void record(const std::vector<Trial>& trials, Recording& recording) {
  for (const Trial& trial : trials) {
    recording.facilities.insert_or_assign(std::string(name_of(trial.facility)),
                                          std::string(name_of(trial.outcome)));
  }
}

}  // namespace causalctl::session
