#include "controller/commands/call_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>
#include <variant>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/system_calls.h"
#include "controller/perf/process_bits.h"
#include "controller/perf/uprobes.h"
#include "controller/perf/visit_trial.h"

namespace causalctl::commands {
namespace {

constexpr Nanoseconds kWatchProbes = 300 * kMillisecond;
constexpr Nanoseconds kStep = 5 * kMillisecond;
constexpr double kMostCost = 0.1;         // of the time, of one thread
constexpr std::size_t kMostProbes = 128;  // each is searched for in all files of the process

// An answer leaves a process by one of these, or is made to last.
constexpr std::array<std::string_view, 26> kOutputs = {
    "write",        "writev",    "pwrite64", "pwritev",  "pwritev2",        "sendto",
    "sendmsg",      "sendmmsg",  "sendfile", "splice",   "vmsplice",        "tee",
    "fsync",        "fdatasync", "msync",    "rename",   "renameat",        "renameat2",
    "link",         "linkat",    "unlink",   "unlinkat", "copy_file_range", "sync_file_range",
    "mq_timedsend", "msgsnd"};

bool is_output(std::string_view call) {
  return std::find(kOutputs.begin(), kOutputs.end(), call) != kOutputs.end();
}

void rank(std::vector<Rated>& all) {
  std::stable_sort(all.begin(), all.end(), [](const Rated& one, const Rated& other) {
    return std::pair(one.is_output, one.per_second) > std::pair(other.is_output, other.per_second);
  });
}

// Returns the places of a probe. Throws Error if a uprobe cannot stand on one of them.
std::vector<perf::UprobePlace> places_of(const std::string& spec, Pid target, std::uint32_t tag,
                                         unwind::Symbolizer& symbolizer) {
  const progress::Point point = progress::resolve(spec, target, symbolizer);
  const auto& probe = std::get<progress::UsdtSpec>(point.spec);
  return progress::plan_uprobes(point, target, tag, progress::semaphores_of(point, probe, target))
      .places;
}

// Hits of these tags are not recorded one by one.
std::uint32_t tag_of(std::size_t probe) {
  return perf::Uprobes::kMostTags + static_cast<std::uint32_t>(probe);
}

// Sleeps until the time is over, or until the probes have cost too much. Returns how long that was.
Nanoseconds watch(const perf::Uprobes& uprobes, std::size_t probes, Nanoseconds cost_ns) {
  const Nanoseconds begin_ns = monotonic_now();
  for (;;) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(kStep));
    const Nanoseconds passed_ns = monotonic_now() - begin_ns;
    std::uint64_t hits = 0;
    for (std::size_t i = 0; i < probes; ++i) hits += uprobes.count(tag_of(i));
    const double cost = static_cast<double>(hits) * static_cast<double>(cost_ns);
    if (passed_ns >= kWatchProbes || cost > kMostCost * static_cast<double>(passed_ns)) {
      return passed_ns;
    }
  }
}

}  // namespace

CallRates::CallRates(Pid target) {
  try {
    auto processes = std::make_shared<perf::ProcessBits>();
    processes->sample(target);
    counts_ = std::make_unique<perf::CallCounts>(std::move(processes));
    begin_ns_ = monotonic_now();
  } catch (const Error& error) {
    obstacle_ = error.what();
  }
}

std::vector<Rated> CallRates::take() {
  std::vector<Rated> rates;
  if (!counts_) return rates;
  const auto counts = counts_->counts();
  const double seconds = static_cast<double>(monotonic_now() - begin_ns_ + 1) / kSecond;
  counts_.reset();
  for (const auto& [number, count] : counts) {
    const std::string_view name = name_of_call(number);
    if (name.empty()) continue;
    rates.push_back(
        {fmt::format("syscall:{}", name), static_cast<double>(count) / seconds, is_output(name)});
  }
  rank(rates);
  return rates;
}

ProbeRates rates_of_probes(Pid target, unwind::Symbolizer& symbolizer,
                           const std::vector<progress::UsdtSpec>& probes) {
  ProbeRates rates;
  std::vector<std::string> watched;
  std::vector<perf::UprobePlace> places;
  const perf::UprobeTrial& trial = perf::uprobe_trial();
  // Otherwise each place would be an event, which the kernel takes long to close.
  const bool is_possible = trial.means == perf::Uprobes::Means::links;
  if (!is_possible) rates.obstacle = trial.finding;
  for (const progress::UsdtSpec& probe : probes) {
    const std::string spec = fmt::format("usdt:{}:{}", probe.provider, probe.name);
    try {
      if (!is_possible) throw Error(rates.obstacle);
      if (watched.size() == kMostProbes) throw Error(fmt::format("at most {} are", kMostProbes));
      auto found = places_of(spec, target, tag_of(watched.size()), symbolizer);
      places.insert(places.end(), found.begin(), found.end());
      watched.push_back(spec);
    } catch (const Error& error) {
      rates.not_counted.push_back(spec);
      rates.obstacle = error.what();
    }
  }
  if (watched.empty()) return rates;
  try {
    perf::Uprobes uprobes(target, *trial.means);
    uprobes.add(places);
    uprobes.start();
    rates.watched_ns = watch(uprobes, watched.size(), trial.emulated_cost_ns);
    const double seconds = static_cast<double>(rates.watched_ns) / kSecond;
    for (std::size_t i = 0; i < watched.size(); ++i) {
      const std::uint64_t count = uprobes.count(tag_of(i));
      if (count == 0) {
        rates.silent.push_back(watched[i]);
      } else {
        rates.fired.push_back({watched[i], static_cast<double>(count) / seconds, false});
      }
    }
    rank(rates.fired);
  } catch (const Error& error) {
    rates.not_counted.insert(rates.not_counted.end(), watched.begin(), watched.end());
    rates.obstacle = error.what();
  }
  return rates;
}

}  // namespace causalctl::commands
