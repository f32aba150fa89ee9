// Renders the routines as text (docs/inputs.md): the verdict, and one line a routine. The name
// stands last, so that it need not be cut where there is no terminal.

#include "controller/report/text.h"

#include <algorithm>
#include <string>
#include <vector>

#include "controller/base/shell_quotes.h"
#include "controller/report/inputs/render.h"
#include "controller/report/inputs/text_parts.h"
#include "controller/report/inputs/words.h"
#include "controller/report/short_names.h"

namespace causalctl::report::inputs {
namespace {

constexpr std::size_t kRoutines = 10;
constexpr std::size_t kGrowthWidth = 20;
constexpr std::size_t kNumbersWidth = 59;  // what stands before the name
constexpr std::size_t kNarrowestName = 12;

// In a growth's column: the worst case is told only where it alone is superlinear.
std::string growth_cell(const Profile& profile, const Routine& routine) {
  const Growth& mean = profile.growth(routine, Of::mean);
  if (mean.verdict == Verdict::superlinear || !is_superlinear(profile, routine)) {
    return growth_words(mean);
  }
  return "worst " + profile.growth(routine, Of::worst).shape;
}

// Returns the name, cut if the terminal has no room for it.
std::string shown_name(const ShortNames& names, const Routine& routine, const TextOptions& options,
                       std::size_t width) {
  std::string name = printable(routine.name);
  if (!options.cuts_names) return name;
  const std::size_t room = width - std::min(width, kNumbersWidth);
  return names.fit(name, std::max(room, kNarrowestName));
}

void add_routines(const Profile& profile, const TextOptions& options, Text& text) {
  const auto unit = static_cast<std::size_t>(profile.cost);
  const std::size_t count = std::min(kRoutines, profile.routines.size());
  std::vector<std::string> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(printable(profile.routines[i].name));
  const ShortNames names(all, kNarrowestName);
  text.line("{}",
            text.colored(fmt::format("{:>7}  {:>6}  {:<{}}  {:>6}  {:>11}  {}", "share %", "own %",
                                     "growth", kGrowthWidth, "sizes", "calls", "routine"),
                         kDim));
  for (std::size_t i = 0; i < count; ++i) {
    const Routine& routine = profile.routines[i];
    const bool is_fast = is_superlinear(profile, routine);
    const std::string growth = padded(growth_cell(profile, routine), kGrowthWidth);
    text.line("{:>7}  {:>6}  {}  {:>6}  {:>11}  {}", percent(routine.share[unit]),
              percent(routine.own_share[unit]), is_fast ? text.colored(growth, kRed) : growth,
              profile.growth(routine, Of::mean).sizes, grouped(routine.calls),
              shown_name(names, routine, options, text.width()));
  }
  if (count < profile.routines.size()) {
    text.line("{}", text.colored(fmt::format("{} more routines are in the other formats",
                                             grouped(profile.routines.size() - count)),
                                 kDim));
  }
}

void add_disagreements(const Profile& profile, Text& text) {
  constexpr std::size_t kMost = 3;
  std::size_t found = 0;
  for (const Routine& routine : profile.routines) {
    if (routine.disagreement.empty()) continue;
    if (++found > kMost) continue;
    text.paragraph(fmt::format("{}: {}", printable(routine.name), routine.disagreement));
  }
  if (found > kMost) text.line("the metrics disagree for {} more routines", found - kMost);
  if (found > 0) text.blank();
}

// The one command to type next.
std::string next_command(const Profile& profile) {
  if (profile.routines.empty() || !is_superlinear(profile, profile.routines.front())) {
    const auto has_sizes = [&](const Routine& routine) {
      return profile.growth(routine, Of::mean).verdict != Verdict::too_few;
    };
    if (std::none_of(profile.routines.begin(), profile.routines.end(), has_sizes)) {
      return fmt::format("causalctl inputs run -o {} -- {}    with another input", profile.logs,
                         printable(profile.command));
    }
    return fmt::format("causalctl report {} --format html -o inputs.html", profile.logs);
  }
  return fmt::format("causalctl report {} --function {}", profile.logs,
                     in_shell_quotes(profile.routines.front().name));
}

}  // namespace

void add_verdict(const std::string& verdict, const TextOptions& options, Text& text) {
  if (!options.cuts_names) return text.line("{}", text.colored(verdict, kBold));
  text.paragraph(text.colored(verdict, kBold));
}

void add_notes(const Profile& profile, Text& text) {
  for (const std::string& note : profile.notes) text.paragraph("note: " + printable(note));
  for (const std::string& warning : profile.warnings) {
    text.paragraph("warning: " + printable(warning));
  }
}

std::string render_text(const Profile& profile, const TextOptions& options) {
  Text text(options.color, options.width);
  add_verdict(verdict_words(profile), options, text);
  if (const std::string forecast = forecast_words(profile); !forecast.empty()) {
    text.paragraph(forecast);
  }
  text.blank();
  text.paragraph(fmt::format(
      "{}: {} {}, {} {}, input by {} in cells of {} bytes; {} % of the input is not in rms",
      printable(profile.command), profile.runs, profile.runs == 1 ? "run" : "runs",
      grouped(profile.total[static_cast<std::size_t>(profile.cost)]), name_of_cost(profile.cost),
      name_of_metric(profile.metric), profile.cell_bytes, percent(profile.volume)));
  add_notes(profile, text);
  text.blank();
  if (!profile.routines.empty()) {
    add_routines(profile, options, text);
    text.blank();
  }
  add_disagreements(profile, text);
  text.line("next: {}", next_command(profile));
  return text.take();
}

}  // namespace causalctl::report::inputs
