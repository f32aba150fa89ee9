#include "controller/report/callpath/head.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "controller/base/number.h"
#include "controller/base/printable.h"
#include "controller/base/proportion.h"
#include "controller/report/callpath/labels.h"
#include "controller/report/text.h"

namespace causalctl::report::callpath {

std::optional<std::size_t> samples_column(const Profile& profile) {
  if (profile.columns.empty()) return std::nullopt;
  if (profile.columns[0].name != "cpu" && profile.columns[0].name != "samples") return std::nullopt;
  for (std::size_t i = 0; i < profile.columns.size(); ++i) {
    if (profile.columns[i].name == "samples") return i;
  }
  return std::nullopt;
}

Interval sampled_share(std::uint64_t part, std::uint64_t all, std::uint64_t samples) {
  const double count = share_of(part, all) * static_cast<double>(samples);
  return share_with_interval(static_cast<std::uint64_t>(std::llround(count)), samples);
}

std::string program_words(const Profile& profile) {
  std::string text = printable(base_name(profile.program));
  if (!profile.set.empty()) {
    text = fmt::format("{} ({} {})", printable(profile.set), grouped(profile.processes),
                       profile.processes == 1 ? "process" : "processes");
  } else if (!profile.programs.empty() && profile.processes > 1) {
    text += fmt::format(" and {} other {}", grouped(profile.processes - 1),
                        profile.processes == 2 ? "process" : "processes");
  }
  if (profile.pid != 0) text += fmt::format(" (process {})", profile.pid);
  if (profile.runs > 1) text += fmt::format(" in {} runs", profile.runs);
  return text;
}

std::string sampling_words(const Profile& profile) {
  const auto samples = std::find_if(profile.columns.begin(), profile.columns.end(),
                                    [](const Column& each) { return each.name == "samples"; });
  if (samples == profile.columns.end()) {  // chains of waits and of events are among these
    return fmt::format("{} call chains in {}",
                       grouped(profile.chains.complete + profile.chains.incomplete),
                       duration(profile.wall_ns));
  }
  const std::uint64_t count =
      totals(profile, static_cast<std::size_t>(samples - profile.columns.begin()))[0];
  std::string text = fmt::format("{} samples in {}", grouped(count), duration(profile.wall_ns));
  if (profile.period_ns > 0) {
    text += fmt::format(", one each {} of CPU time", duration(profile.period_ns));
  }
  return text;
}

std::string chain_words(const Profile& profile) {
  const Chains& chains = profile.chains;
  const std::uint64_t all = chains.complete + chains.incomplete;
  if (all == 0) return "";
  // "100.0 %" would contradict that some are not.
  const double complete = share_of(chains.complete, all);
  const bool nearly = chains.incomplete > 0 && complete >= 0.9995;
  std::string text =
      fmt::format("{} % of the call chains are complete", nearly ? "Over 99.9" : percent(complete));
  if (chains.incomplete > 0) {
    text += fmt::format("; {} {} not", grouped(chains.incomplete),
                        chains.incomplete == 1 ? "is" : "are");
  }
  for (const Chains::Reason& reason : chains.reasons) {
    text += fmt::format("{}{} ended {}", &reason == &chains.reasons.front() ? ": " : ", ",
                        grouped(reason.count), reason.text);
  }
  text += ".";
  if (chains.searched > 0) {
    text += fmt::format(
        " In {} of the complete ones no unwind table tells a caller: it was searched for on the "
        "stack, and may be another function.",
        grouped(chains.searched));
  }
  return text;
}

std::vector<std::string> time_lines(const Profile& profile) {
  std::vector<std::string> lines;
  for (const TimeFinding& finding : profile.time) {
    if (!finding.text.empty()) lines.push_back(printable(finding.text));
  }
  return lines;
}

std::vector<std::string> time_and_notes(const Profile& profile) {
  std::vector<std::string> lines = time_lines(profile);
  for (const std::string& note : profile.notes) lines.push_back(printable(note));
  return lines;
}

std::vector<std::string> count_lines(const Profile& profile) {
  const auto rate = [](double calls) {
    return calls >= 10 ? grouped(static_cast<std::uint64_t>(std::llround(calls)))
                       : number(calls, 1);
  };
  std::vector<std::string> lines;
  for (const Count& count : profile.counts) {
    std::string& line =
        lines.emplace_back(fmt::format("calls of {}: {}{}", count.function,
                                       count.exact                                  ? ""
                                       : count.too_dear || count.counted_share >= 1 ? "at least "
                                                                                    : "about ",
                                       grouped(count.calls)));
    if (count.exact) line += " (exact)";
    if (count.calls > 0) {
      line += fmt::format(", {}{}", count.too_dear ? "more than " : "", rate(count.per_second));
      if (rate(count.most_per_second) != rate(count.per_second)) {
        line += fmt::format(" to {}", rate(count.most_per_second));
      }
      line += " a second";
    }
    if (count.counted_share < 1) {
      line += fmt::format(
          ". They were counted {} % of the time, as each costs its thread {}: together {} % of a "
          "thread's time while they are counted",
          percent(count.counted_share), duration(count.cost_ns), percent(count.cost_share));
    }
    if (count.too_dear) line += ", too much to tell how many there are otherwise";
    if (!count.missing.empty()) line += fmt::format(" ({})", count.missing);
  }
  return lines;
}

}  // namespace causalctl::report::callpath
