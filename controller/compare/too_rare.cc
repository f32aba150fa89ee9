#include "controller/compare/too_rare.h"

#include <fmt/format.h>

#include "controller/base/clock.h"
#include "controller/base/halt_text.h"

namespace causalctl::compare {
namespace {

constexpr Nanoseconds kLookForChildren = 200 * kMillisecond;
constexpr Nanoseconds kLookAgain = 3 * kMillisecond;

}  // namespace

RunFailed too_rare(const Passed& passed, const session::TargetState& state,
                   const std::optional<std::string>& unseen) {
  const double length_s = static_cast<double>(passed.length_ns) / kSecond;
  const auto passed_so = [&](const std::string& what, std::uint64_t visits) {
    return fmt::format("{} was passed {} times in {:.3g} s", what, visits, length_s);
  };
  const std::string seen = passed_so(passed.name, passed.visits);
  if (const auto halt = text_of_halt(state.stopped, state.frozen);
      passed.visits == 0 && !halt.empty()) {
    return RunFailed(fmt::format("{}: {}", seen, halt));
  }
  std::string what = seen + ", which is too rare to measure";
  std::string hint =
      "make the window longer (--measure), or name a point that is passed more often";
  if (passed.visits == 0 && passed.begins.value_or(0) > 0) {
    what = fmt::format("{}: {}, its end ({}) never", passed.name,
                       passed_so(fmt::format("its begin ({})", passed.begin), *passed.begins),
                       passed.end);
    hint =
        "name an end that the same process passes; causalctl points PID lists what could be "
        "counted";
  }
  return RunFailed(what, unseen.value_or(hint));
}

std::string text_of_births(double births_per_s) {
  return fmt::format(
      "up to {:.3g} threads began in a second, and their first visits, or all, may be missing: "
      "hardware breakpoints and tracepoints are opened on each some 20 ms after its birth, and "
      "latencies without pairs are not known then. --count-by uprobe counts all visits of "
      "functions and lines, which may stand for system calls",
      births_per_s);
}

std::optional<std::string> text_of_children(const session::Children& children, Pid pid) {
  const Nanoseconds until_ns = monotonic_now() + kLookForChildren;
  for (;;) {
    const auto text = text_of(children.seen(), pid, "give its number to --a or --b:");
    if (text) return "its children may pass it: " + *text;
    if (monotonic_now() >= until_ns) return std::nullopt;
    sleep_until(monotonic_now() + kLookAgain);
  }
}

}  // namespace causalctl::compare
