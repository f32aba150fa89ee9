#include "config/text.h"

#include <fmt/format.h>
#include <wordexp.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "config/load.h"
#include "controller/base/brackets.h"
#include "controller/base/edit_distance.h"
#include "controller/base/error.h"
#include "controller/base/printable.h"

namespace causalctl::config {
namespace {

struct TimeUnit {
  std::string_view name;
  Nanoseconds ns;
};
constexpr TimeUnit kTimeUnits[] = {{"ns", 1},      {"us", kMicrosecond}, {"ms", kMillisecond},
                                   {"s", kSecond}, {"m", 60 * kSecond},  {"h", 3600 * kSecond}};
constexpr double kLongestSeconds = 366.0 * 24 * 3600;

// Returns the first comma at or after `from` that is outside of brackets, since C++ names contain
// such commas; npos if there is none.
std::size_t separating_comma(std::string_view text, std::size_t from) {
  return find_outside_brackets(text, from, [&](std::size_t i) { return text[i] == ','; });
}

}  // namespace

std::string lead_in(std::string_view what) { return what.empty() ? "" : fmt::format("{}: ", what); }

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& all) {
  std::optional<std::string> best;
  std::size_t fewest = std::max<std::size_t>(2, word.size() / 3) + 1;
  // such a word is no slip, and the distance takes quadratic time
  if (word.size() > 64) return best;
  for (const std::string& candidate : all) {
    const std::size_t count = edit_distance(word, candidate, fewest);
    // A short key is not suggested if it shares no letter with the word.
    if (count >= fewest || count >= std::min(word.size(), candidate.size())) continue;
    fewest = count;
    best = candidate;
  }
  return best;
}

std::string duration_text(Nanoseconds time_ns) {
  const TimeUnit* unit = &kTimeUnits[0];
  for (const TimeUnit& larger : kTimeUnits) {
    if (time_ns != 0 && time_ns % larger.ns == 0) unit = &larger;
  }
  return fmt::format("{}{}", time_ns / unit->ns, unit->name);
}

std::string printable(std::string_view untrusted) {
  return causalctl::printable(untrusted.substr(0, 200));
}

Nanoseconds parse_duration(std::string_view text, std::string_view what) {
  const auto refuse = [&](std::string_view why) -> UsageError {
    return UsageError(
        fmt::format("{}\"{}\" is not a time: {}", lead_in(what), printable(text), why),
        "write a number and its unit: 250us, 10ms, 1.5s, 5m, 2h");
  };
  // from_chars would also take "inf", "nan" and a sign.
  if (text.empty() || text[0] < '0' || text[0] > '9') throw refuse("it must begin with a digit");
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, fault] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (fault != std::errc()) throw refuse("the number is out of range");
  const std::string_view name(rest, static_cast<std::size_t>(end - rest));
  for (const TimeUnit& unit : kTimeUnits) {
    if (unit.name != name) continue;
    const double time_ns = number * static_cast<double>(unit.ns);
    if (time_ns > kLongestSeconds * kSecond) throw refuse("longer than a year");
    return std::llround(time_ns);
  }
  throw refuse(name.empty() ? "the unit is missing" : "the unit must be ns, us, ms, s, m or h");
}

LatencyPoint parse_latency(std::string_view text, std::string_view what) {
  const std::size_t equals = text.find('=');
  const std::size_t comma = equals == text.npos ? text.npos : separating_comma(text, equals);
  LatencyPoint point;
  if (comma != text.npos) {
    point = {std::string(text.substr(0, equals)),
             std::string(text.substr(equals + 1, comma - equals - 1)),
             std::string(text.substr(comma + 1))};
  }
  if (point.name.empty() || point.begin.empty() || point.end.empty()) {
    throw UsageError(
        fmt::format("{}\"{}\" is not a latency point", lead_in(what), printable(text)),
        "write NAME=BEGIN,END: --latency request=conn_new,conn_close; or name begin and "
        "end apart in a file for --config, under progress.latency");
  }
  return point;
}

std::vector<std::string> split_words(const std::string& text, std::string_view option) {
  wordexp_t expanded{};
  const int error = wordexp(text.c_str(), &expanded, WRDE_NOCMD | WRDE_UNDEF);
  if (error != 0) {
    if (error == WRDE_NOSPACE) wordfree(&expanded);
    const char* why = error == WRDE_CMDSUB   ? "it has a command in it: $(…) or `…`"
                      : error == WRDE_BADVAL ? "it has a variable in it that is not set"
                      : error == WRDE_SYNTAX ? "a quote or bracket is not closed"
                                             : "it has a character of a shell: | & ; < > ( ) { }";
    throw UsageError(
        fmt::format("{}: \"{}\" is no single command: {}", option, printable(text), why),
        "quote it, or give: sh -c '…'");
  }
  std::vector<std::string> words(expanded.we_wordv, expanded.we_wordv + expanded.we_wordc);
  wordfree(&expanded);
  if (words.empty()) throw UsageError(fmt::format("{}: no command", option));
  return words;
}

std::string joined_words(const std::vector<std::string>& words) {
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@%+";
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
      text += word;
      continue;
    }
    text += '\'';
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return text;
}

}  // namespace causalctl::config
