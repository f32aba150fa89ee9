#include "controller/report/inputs/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "controller/report/text.h"

namespace causalctl::report::inputs {
namespace {

constexpr double kMillion = 1e6;

std::string factor(double value) {
  if (value >= 10) return grouped(static_cast<unsigned long long>(std::llround(value)));
  return number(value, 1);
}

// Of the growth that is the worse one: that of the mean, or that of the worst case alone.
std::string fast_words(const Profile& profile, const Routine& routine) {
  const Growth& mean = profile.growth(routine, Of::mean);
  if (mean.verdict == Verdict::superlinear) return growth_words(mean);
  return growth_words(profile.growth(routine, Of::worst)) + " in the worst case";
}

std::string forecast_part(const Profile& profile) {
  if (!profile.forecast.is_known) return {};
  return fmt::format("if each call had ten times its input the program would execute {} as many {}",
                     times_words(profile.forecast.times), name_of_cost(profile.cost));
}

// The verdict if no routine is superlinear.
std::string calm_words(const Profile& profile) {
  std::size_t enough = 0;
  std::size_t certain = 0;
  for (const Routine& routine : profile.routines) {
    const Verdict verdict = profile.growth(routine, Of::mean).verdict;
    enough += verdict != Verdict::too_few ? 1 : 0;
    certain += is_certain(verdict) ? 1 : 0;
  }
  if (enough == 0) {
    return fmt::format(
        "too few sizes: none of {} routines was called with 8 input sizes of which the largest is "
        "ten times the smallest; run it with inputs of different sizes",
        profile.routines.size());
  }
  if (certain == 0) {
    return fmt::format(
        "unclear: {} of {} routines have enough sizes, but their costs differ too much for a "
        "trend; "
        "run it with more sizes",
        enough, profile.routines.size());
  }
  std::string text =
      fmt::format("no routine of the {} with a clear growth grows faster than n log n", certain);
  if (enough > certain) text += fmt::format(" ({} are unclear)", enough - certain);
  if (const std::string then = forecast_part(profile); !then.empty()) text += "; " + then;
  return text;
}

}  // namespace

std::string growth_words(const Growth& growth) {
  const auto with_interval = [&] {
    return fmt::format("{} [{:.2f}, {:.2f}]", growth.shape, growth.exponent.low,
                       growth.exponent.high);
  };
  switch (growth.verdict) {
    case Verdict::too_few:
      return growth.sizes < kFewestSizes ? "too few sizes" : "sizes too close";
    case Verdict::sublinear:
      return growth.shape == "log n" ? growth.shape : with_interval();
    case Verdict::linear:
      return with_interval();
    case Verdict::superlinear:
      return growth.shape == "2ⁿ" ? growth.shape : with_interval();
    default:
      return std::string(name_of(growth.verdict));
  }
}

std::string times_words(const Interval& times) {
  if (!(times.low < kMillion)) return "more than a million times";
  const std::string high = times.high < kMillion ? factor(times.high) : "more than a million";
  if (!(times.value < kMillion)) {
    return fmt::format("more than a million [{}, {}] times", factor(times.low), high);
  }
  return fmt::format("{} [{}, {}] times", factor(times.value), factor(times.low), high);
}

std::string verdict_words(const Profile& profile) {
  if (profile.routines.empty()) return "nothing was recorded: no routine was called and returned";
  const Routine& first = profile.routines.front();
  if (!is_superlinear(profile, first)) return calm_words(profile);
  std::string text = routine_words(profile, first);
  if (const std::string then = forecast_part(profile); !then.empty()) text += "; " + then;
  return text;
}

std::string forecast_words(const Profile& profile) {
  const Forecast& forecast = profile.forecast;
  if (!forecast.is_known) return {};
  const std::string whose = forecast.routine.empty() ? "the routines' own costs are"
                                                     : fmt::format("{} with all that it calls is",
                                                                   printable(forecast.routine));
  return fmt::format(
      "The forecast extrapolates a decade beyond what was seen. It follows fits that are certain: "
      "{} {} % of the run; the rest is counted as it is. Input that comes by more calls is not in "
      "it.",
      whose, percent(std::min(forecast.share, 1.0)));
}

std::string routine_words(const Profile& profile, const Routine& routine) {
  const std::string name = printable(routine.name);
  const std::string share = percent(routine.share[static_cast<std::size_t>(profile.cost)]);
  if (is_superlinear(profile, routine)) {
    return fmt::format("{} grows with {} and is {} % of the run", name,
                       fast_words(profile, routine), share);
  }
  const Growth& mean = profile.growth(routine, Of::mean);
  if (mean.verdict == Verdict::too_few) {
    return fmt::format(
        "too few sizes: {} was called with {} input sizes, from {} to {} cells, but 8 are needed, "
        "the "
        "largest ten times the smallest; it is {} % of the run",
        name, mean.sizes, grouped(static_cast<unsigned long long>(mean.smallest)),
        grouped(static_cast<unsigned long long>(mean.largest)), share);
  }
  if (mean.verdict == Verdict::unclear) {
    return fmt::format("it is unclear how {} grows, which is {} % of the run", name, share);
  }
  if (mean.verdict == Verdict::constant) {
    return fmt::format("{} costs the same at every size, and is {} % of the run", name, share);
  }
  return fmt::format("{} grows with {} and is {} % of the run", name, growth_words(mean), share);
}

}  // namespace causalctl::report::inputs
