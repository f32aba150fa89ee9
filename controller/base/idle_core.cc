#include "controller/base/idle_core.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <utility>

namespace causalctl {
namespace {

constexpr double kIdle = 0.9;       // of the time since the last poll
constexpr double kStillIdle = 0.8;  // lower, because the caller itself runs there

double idle_share(const CoreTimes& before, const CoreTimes& now) {
  if (now.all <= before.all || now.idle < before.idle) return 0;
  return static_cast<double>(now.idle - before.idle) / static_cast<double>(now.all - before.all);
}

}  // namespace

std::vector<CoreTimes> parse_core_times(std::string_view stat) {
  constexpr std::size_t kFields =
      8;  // user nice system idle iowait irq softirq steal; guest is user
  std::vector<CoreTimes> result;
  std::istringstream lines{std::string(stat)};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("cpu") || line.starts_with("cpu ")) continue;
    std::istringstream fields(line.substr(3));
    CoreTimes times;
    std::array<std::uint64_t, kFields> ticks{};
    fields >> times.core;
    for (std::uint64_t& each : ticks) fields >> each;
    if (!fields) continue;
    times.idle = ticks[3] + ticks[4];
    for (const std::uint64_t each : ticks) times.all += each;
    result.push_back(times);
  }
  return result;
}

std::optional<Nanoseconds> idle_time(const std::vector<CoreTimes>& now,
                                     const std::vector<int>& cores, long ticks_per_second) {
  Nanoseconds sum_ns = 0;
  for (const int core : cores) {
    const auto found = std::find_if(now.begin(), now.end(),
                                    [&](const CoreTimes& each) { return each.core == core; });
    if (found == now.end()) return std::nullopt;
    sum_ns += static_cast<Nanoseconds>(found->idle) * (kSecond / ticks_per_second);
  }
  return sum_ns;
}

std::optional<int> IdleCore::poll(std::vector<CoreTimes> now) {
  const std::vector<CoreTimes> before = std::exchange(before_, std::move(now));
  double most = 0;
  double here = 0;
  int idlest = -1;
  for (const CoreTimes& core : before_) {
    const auto same = [&](const CoreTimes& other) { return other.core == core.core; };
    const auto earlier = std::find_if(before.begin(), before.end(), same);
    if (earlier == before.end()) continue;
    const double share = idle_share(*earlier, core);
    if (core.core == core_) here = share;
    if (share > most) {
      most = share;
      idlest = core.core;
    }
  }
  if (!there_is_one_) there_is_one_ = most > kIdle;
  if (hopeless()) return std::nullopt;
  if (core_ >= 0 && here > kStillIdle) return core_;
  core_ = most > kStillIdle ? idlest : -1;
  return core_ >= 0 ? std::optional(core_) : std::nullopt;
}

}  // namespace causalctl
