#include "controller/continuous/analysis/epoch_choice.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <limits>
#include <optional>
#include <string_view>

#include "controller/base/error.h"
#include "controller/base/number.h"
#include "controller/base/printable.h"
#include "controller/base/types.h"

namespace causalctl::continuous {
namespace {

constexpr std::size_t kMostListed = 8;
constexpr std::string_view kSpan = "..";

std::int64_t nanoseconds(std::tm time) {
  time.tm_isdst = -1;
  return static_cast<std::int64_t>(mktime(&time)) * kSecond;
}

std::tm local(std::int64_t time_ns) {
  const std::time_t seconds = time_ns / kSecond;
  std::tm time{};
  localtime_r(&seconds, &time);
  return time;
}

std::string formatted(const std::tm& time, const char* format) {
  char text[32];
  return std::string(text, strftime(text, sizeof text, format, &time));
}

// Takes "2026-11-25T10:00", with seconds or without, "2026-11-25", or "10:00" of the day.
std::optional<std::int64_t> parse_time(const std::string& text, const std::tm& day) {
  for (const char* format : {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"}) {
    std::tm time{};
    const char* end = strptime(text.c_str(), format, &time);
    if (end != nullptr && *end == '\0') return nanoseconds(time);
  }
  std::tm time = day;
  time.tm_sec = 0;
  const char* end = strptime(text.c_str(), "%H:%M", &time);
  if (end != nullptr && *end == '\0') return nanoseconds(time);
  return std::nullopt;
}

struct Span {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = std::numeric_limits<std::int64_t>::max();
};

std::optional<Span> parse_span(const std::string& text, std::int64_t now_ns) {
  std::tm day = local(now_ns);
  day.tm_hour = day.tm_min = day.tm_sec = 0;
  if (text == "today") return Span{nanoseconds(day)};
  if (text == "all") return Span{};
  const std::size_t dots = text.find(kSpan);
  if (dots == std::string::npos) return std::nullopt;
  Span span;
  const std::string from = text.substr(0, dots), to = text.substr(dots + kSpan.size());
  if (!from.empty()) {
    const auto begin = parse_time(from, day);
    if (!begin) return std::nullopt;
    span.begin_ns = *begin;
    day = local(*begin);
  }
  if (!to.empty()) {
    const auto end = parse_time(to, day);
    if (!end) return std::nullopt;
    span.end_ns = *end;
  }
  return span;
}

[[noreturn]] void refuse(const std::vector<Epoch>& epochs, const std::string& text) {
  std::string list;
  const std::size_t begin = epochs.size() - std::min(epochs.size(), kMostListed);
  for (std::size_t i = begin; i < epochs.size(); ++i) {
    const Epoch& epoch = epochs[i];
    list += fmt::format("{}{}{}{}", i == begin ? "" : ", ", epoch.id, epoch.name.empty() ? "" : " ",
                        printable(epoch.name));
  }
  throw UsageError(
      fmt::format("--epoch {}: there is no such epoch", printable(text)),
      fmt::format("last, all, today, a name, a number, a span of these (3..5) or of time "
                  "(2026-11-25T10:00..11:00); the latest are: {}",
                  list.empty() ? "none" : list));
}

bool is_in_span_of_numbers(std::int64_t id, const std::string& text) {
  const std::size_t dots = text.find(kSpan);
  if (dots == std::string::npos) return false;
  const auto first = parse_number<std::int64_t>(text.substr(0, dots));
  const auto last = parse_number<std::int64_t>(text.substr(dots + kSpan.size()));
  return first && last && id >= *first && id <= *last;
}

}  // namespace

std::vector<std::int64_t> choose_epochs(const std::vector<Epoch>& epochs, const std::string& text,
                                        std::int64_t now_ns) {
  std::vector<std::int64_t> chosen;
  if (text == "last") {
    if (!epochs.empty()) chosen.push_back(epochs.back().id);
  } else if (const auto span = parse_span(text, now_ns)) {
    for (const Epoch& epoch : epochs) {
      if (epoch.begin_ns < span->end_ns && epoch.end_ns >= span->begin_ns) {
        chosen.push_back(epoch.id);
      }
    }
  } else {
    const auto number = parse_number<std::int64_t>(text);
    for (const Epoch& epoch : epochs) {
      const bool is_meant =
          epoch.name == text || number == epoch.id || is_in_span_of_numbers(epoch.id, text);
      if (is_meant) chosen.push_back(epoch.id);
    }
  }
  if (chosen.empty()) refuse(epochs, text);
  return chosen;
}

std::string time_text(std::int64_t time_ns) {
  return formatted(local(time_ns), "%Y-%m-%d %H:%M:%S");
}

std::string utc_text(std::int64_t time_ns) {
  const std::time_t seconds = time_ns / kSecond;
  std::tm time{};
  gmtime_r(&seconds, &time);
  return formatted(time, "%Y-%m-%dT%H:%M:%SZ");
}

}  // namespace causalctl::continuous
