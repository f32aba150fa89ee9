#include "controller/commands/callpath_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string_view>
#include <utility>

#include "config/text.h"
#include "controller/base/error.h"
#include "controller/base/number.h"
#include "controller/base/printable.h"
#include "controller/callpath/event_spec.h"
#include "controller/progress/progress.h"
#include "controller/session/facilities.h"

namespace causalctl::commands {
namespace {

constexpr Nanoseconds kShortestPeriod = 100 * kMicrosecond;
constexpr Nanoseconds kLongestPeriod = kSecond;
constexpr Nanoseconds kShortestEpoch = 100 * kMillisecond;
constexpr std::string_view kEvery = "every ";
constexpr std::string_view kOn = "on ";
constexpr std::string_view kDlopen = "dlopen";

Nanoseconds period_of(const std::string& text) {
  if (text == "auto") return kMillisecond;
  const Nanoseconds period_ns = config::parse_duration(text, "--period");
  if (period_ns < kShortestPeriod || period_ns > kLongestPeriod) {
    throw UsageError(
        fmt::format("--period {}: not from {} to {}", text, config::duration_text(kShortestPeriod),
                    config::duration_text(kLongestPeriod)),
        "1ms is usual");
  }
  return period_ns;
}

double slowdown_of(const std::string& text) {
  constexpr double kMost = 1000;
  const auto percent = parse_number<double>(text);
  if (percent && *percent > 0 && *percent <= kMost) return *percent / 100;
  throw UsageError(
      fmt::format("--max-slowdown {}: not a percentage above 0, and at most 1000", printable(text)),
      "3 is usual");
}

callpath::EpochSettings epochs_of(const std::vector<std::string>& options) {
  callpath::EpochSettings settings;
  for (const std::string& option : options) {
    if (option == kDlopen) {
      settings.libraries = true;
    } else if (option.starts_with(kEvery)) {
      settings.every_ns = config::parse_duration(option.substr(kEvery.size()), "--epoch");
      if (*settings.every_ns < kShortestEpoch) {
        throw UsageError(fmt::format("--epoch {}: shorter than {}", option,
                                     config::duration_text(kShortestEpoch)),
                         "every 10s is usual");
      }
    } else if (option.starts_with(kOn)) {
      settings.points.push_back(option.substr(kOn.size()));
      progress::parse_spec(settings.points.back());
    } else {
      throw UsageError(fmt::format("--epoch {}: unknown", option),
                       "for example --epoch 'every 10s', --epoch dlopen, --epoch 'on usdt:p:n'");
    }
  }
  return settings;
}

void add_once(callpath::EventSpec spec, std::vector<callpath::EventSpec>& specs) {
  const bool is_there = std::any_of(
      specs.begin(), specs.end(), [&](const auto& each) { return each.option() == spec.option(); });
  if (!is_there) specs.push_back(std::move(spec));
}

// Leaves out what needs records of switches: without them no wait has an end.
void leave_out_waits(const Trial& no_switches, callpath::Settings& settings) {
  settings.left_out.push_back(
      fmt::format("where threads wait is not recorded{}: records of their switches are not seen "
                  "here ({})",
                  settings.wakers ? ", nor who ends waits (--wakers)" : "", no_switches.finding));
  settings.waits = settings.wakers = false;
}

}  // namespace

void add_recording_options(CLI::App& app, RecordingOptions& options) {
  OptionGroup recording(app, "Recording");
  recording.value("--duration", options.duration, "TIME",
                  "how long it records, as in 90s or 5m [until Ctrl-C or the target's end]");
  recording.value("--period", options.period, "auto|TIME",
                  "CPU time of a thread from one of its samples to the next [auto: 1ms]");
  recording.list("--event", options.events, callpath::kEventForms,
                 "what is recorded: time on a core, time spent waiting [both], and events by path: "
                 "page faults, a system call, calls of a function, cycles");
  recording.list(
      "--count", options.counts, "FUNCTION",
      "count all calls of a function, exactly if they are not too many; with their paths");
  recording.flag("--wakers", options.wakers,
                 "record, and show at the end, who ended the time in which threads were blocked, "
                 "also one process of a set that of another");
  recording.value(
      "--max-slowdown", options.slowdown, "PERCENT",
      "what uprobes of --event and --count may cost a thread; dearer ones are recorded in bursts "
      "[3]");
  recording.value("--threads", options.threads, "all|by-name|each|by-start",
                  "which threads are told apart [all are one group]");
  recording.list("--epoch", options.epochs, "every TIME|dlopen|on SPEC",
                 "when an epoch begins, by which a report tells times apart: regularly, when "
                 "libraries are loaded or unloaded, at a visit of a point; may be repeated [one]");
}

callpath::Settings settings_of(const RecordingOptions& options) {
  callpath::Settings settings;
  if (!options.duration.empty()) {
    settings.duration_ns = config::parse_duration(options.duration, "--duration");
  }
  settings.period_ns = period_of(options.period);
  const auto groupings = names_of(callpath::Grouping{});
  if (std::find(groupings.begin(), groupings.end(), options.threads) == groupings.end()) {
    throw UsageError(fmt::format("--threads {}: unknown", options.threads),
                     fmt::format("one of {}", fmt::join(groupings, ", ")));
  }
  settings.grouping = value_of<callpath::Grouping>(options.threads);
  if (!options.events.empty()) settings.waits = false;
  for (const std::string& event : options.events) {
    if (event == "offcpu") settings.waits = true;
    if (event == "cpu" || event == "offcpu") continue;
    add_once(callpath::parse_event(event), settings.events);
  }
  for (const std::string& function : options.counts) {
    add_once(callpath::parse_count(function), settings.events);
  }
  if (settings.events.size() > callpath::kMostEvents) {
    throw UsageError(
        fmt::format("--event, --count: at most {} can be recorded", callpath::kMostEvents));
  }
  settings.most_slowdown = slowdown_of(options.slowdown);
  settings.wakers = options.wakers;
  if (settings.wakers && !settings.waits) {
    throw UsageError("--wakers: waits are not recorded, as no --event is offcpu",
                     "add --event offcpu");
  }
  settings.epochs = epochs_of(options.epochs);
  settings.seed = std::random_device()();
  return settings;
}

void try_facilities(callpath::Settings& settings) {
  settings.tried = session::try_facilities("recording of call paths");
  const Trial* no_switches = find_vain(settings.tried, Facility::switch_record);
  if (no_switches != nullptr && settings.waits) leave_out_waits(*no_switches, settings);
}

}  // namespace causalctl::commands
