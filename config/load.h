// TOML → Config. Unknown keys, wrong types and values out of range are errors with file, line and
// column, all reported at once. Names: docs/configuration.md.
#pragma once

#include <string>
#include <string_view>

#include "config/config.h"

namespace causalctl::config {

// Throws UsageError whose text has one "FILE:LINE:COLUMN: …" line per fault.
Config load(const std::string& path);
Config parse(std::string_view text, const std::string& name);
// The same, of text that says only what is to be different: `into` is left as it is where there is
// a fault.
void apply(std::string_view text, const std::string& name, Config& into);

// Checks what no single key shows, once the command line is merged in: one of pid, match and
// command; at least one progress point; names used once. Throws UsageError.
void check(const Config& config);

// Progress points have names of their own. Throws UsageError.
void check_names(const Progress& progress);

// The same for `causalctl ab`, and gives each side what only `both` says. Throws UsageError.
void check_ab(Config& config);

// Text forms shared with the command line; each throws UsageError naming `what`.
Nanoseconds parse_duration(std::string_view text, std::string_view what);  // 250us 10ms 1.5s 5m 2h
LatencyPoint parse_latency(std::string_view text, std::string_view what);  // NAME=BEGIN,END
void check_format(std::string_view format, std::string_view what);         // text, json or coz
void check_ab_format(std::string_view format, std::string_view what);      // text, json or csv
Unit parse_unit(std::string_view text, std::string_view what);
std::string_view unit_name(Unit unit);  // which parse_unit reads
CountBy parse_count_by(std::string_view text, std::string_view what);
std::string_view count_by_name(CountBy count_by);  // which parse_count_by reads
void check_channel(std::string_view channel, std::string_view what);

// Limits of numbers and times, shared with the command line; inclusive.
template <typename T>
struct Limits {
  T low;
  T high;
};
inline constexpr Limits<Nanoseconds> kExperimentNs{kMillisecond, 3600 * kSecond};
inline constexpr Limits<Nanoseconds> kCooloffNs{0, 60 * kSecond};
inline constexpr Limits<Nanoseconds> kPeriodNs{50 * kMicrosecond, kSecond};
inline constexpr Limits<Nanoseconds> kPauseCostNs{kMicrosecond, 10 * kMillisecond};
inline constexpr Limits<Nanoseconds> kLongestPauseNs{kMillisecond, kSecond};
inline constexpr Limits<Nanoseconds> kPauseThresholdNs{100 * kMicrosecond, kSecond};
inline constexpr Limits<Nanoseconds> kDurationNs{100 * kMillisecond, 30 * 24 * 3600 * kSecond};
inline constexpr Limits<std::int64_t> kMinVisits{1, 1'000'000'000};
inline constexpr Limits<std::int64_t> kSpeedupPercent{0, 100};
inline constexpr Limits<double> kBaselineShare{0.05, 0.95};
inline constexpr Limits<std::int64_t> kPid{1, 1 << 22};
inline constexpr Limits<std::int64_t> kRounds{2, 1'000'000};
inline constexpr Limits<std::int64_t> kPort{1, 65535};
inline constexpr Limits<std::int64_t> kCpu{0, 4095};
inline constexpr Limits<std::int64_t> kNice{-20, 19};
inline constexpr Limits<Nanoseconds> kWindowNs{10 * kMillisecond, 3600 * kSecond};
inline constexpr Limits<Nanoseconds> kWaitNs{0, 3600 * kSecond};
inline constexpr Limits<double> kFailIfSlowerPercent{0.01, 1000};
inline constexpr Limits<double> kResolutionPercent{0.01, 50};
inline constexpr Limits<double> kMaxSlowdownPercent{0.1, 10'000};

}  // namespace causalctl::config
