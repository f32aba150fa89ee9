#include "controller/commands/callpath_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/text.h"
#include "controller/base/error.h"
#include "controller/callpath/record/event_spec.h"
#include "controller/callpath/record/limits.h"
#include "controller/progress/progress.h"
#include "controller/session/facilities.h"

namespace causalctl::commands {
namespace {

constexpr Nanoseconds kShortestEpoch = 100 * kMillisecond;
constexpr std::string_view kEvery = "every ";
constexpr std::string_view kOn = "on ";
constexpr std::string_view kDlopen = "dlopen";

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

callpath::Settings settings_of(const config::Callpath& asked) {
  callpath::Settings settings;
  settings.duration_ns = asked.duration_ns;
  settings.period_ns = asked.period_ns.value_or(kMillisecond);
  settings.grouping = asked.threads;
  if (!asked.events.empty()) settings.waits = false;
  for (const std::string& event : asked.events) {
    if (event == "offcpu") settings.waits = true;
    if (event == "cpu" || event == "offcpu") continue;
    add_once(callpath::parse_event(event), settings.events);
  }
  for (const std::string& function : asked.counts) {
    add_once(callpath::parse_count(function), settings.events);
  }
  if (settings.events.size() > callpath::kMostEvents) {
    throw UsageError(
        fmt::format("--event, --count: at most {} can be recorded", callpath::kMostEvents));
  }
  settings.most_slowdown = asked.max_event_cost_percent / 100;
  settings.wakers = asked.wakers;
  if (settings.wakers && !settings.waits) {
    throw UsageError("--wakers: waits are not recorded, as no --event is offcpu",
                     "add --event offcpu");
  }
  settings.epochs = epochs_of(asked.epochs);
  settings.seed = std::random_device()();
  return settings;
}

void try_facilities(callpath::Settings& settings) {
  settings.tried = session::try_facilities("recording of call paths");
  const Trial* no_switches = find_vain(settings.tried, Facility::switch_record);
  if (no_switches != nullptr && settings.waits) leave_out_waits(*no_switches, settings);
}

}  // namespace causalctl::commands
