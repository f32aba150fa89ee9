// Renders one routine in full (docs/inputs.md): its plots as characters (input-sensitive profiling,
// §3, Figures 4 to 8), its growth by both metrics, where its input comes from, and its sizes.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "controller/report/inputs/plot.h"
#include "controller/report/inputs/render.h"
#include "controller/report/inputs/text_parts.h"
#include "controller/report/inputs/words.h"
#include "controller/report/text.h"

namespace causalctl::report::inputs {
namespace {

constexpr std::size_t kMostRows = 20;
constexpr std::size_t kMostThreads = 10;
constexpr std::size_t kPlotWidth = 76;
constexpr std::size_t kPlotHeight = 12;
constexpr double kLogarithmicFrom = 10;  // times the smallest size

const std::vector<SizeRow>& shown_rows(const Profile& profile, const Routine& routine) {
  return routine.rows[static_cast<std::size_t>(profile.metric)];
}

double mean_cost(const SizeRow& row, std::size_t unit) {
  return static_cast<double>(row.cost[unit].sum) / static_cast<double>(row.calls);
}

std::string cost_words(double cost) {
  return cost < 1000 ? number(cost, 1)
                     : grouped(static_cast<unsigned long long>(std::llround(cost)));
}

bool is_logarithmic(const std::vector<SizeRow>& rows) {
  const auto first =
      std::find_if(rows.begin(), rows.end(), [](const SizeRow& row) { return row.size > 0; });
  return first != rows.end() && static_cast<double>(rows.back().size) >=
                                    kLogarithmicFrom * static_cast<double>(first->size);
}

void add_plot(const Plot& plot, const std::string& title, Text& text) {
  const std::size_t width = std::min(kPlotWidth, text.width());
  text.line("{}{}", text.colored(title, kBold),
            plot.is_logarithmic ? " (both axes logarithmic)" : "");
  for (const std::string& line : draw(plot, width, kPlotHeight)) text.line("{}", line);
  text.blank();
}

void add_cost_plot(const Profile& profile, const Routine& routine, Of of, const char* title,
                   Text& text) {
  const auto unit = static_cast<std::size_t>(profile.cost);
  const std::vector<SizeRow>& rows = shown_rows(profile, routine);
  Plot plot;
  plot.is_logarithmic = is_logarithmic(rows);
  plot.x_name = fmt::format("{}, cells", name_of_metric(profile.metric));
  plot.y_name = name_of_cost(profile.cost) == "blocks" ? "blocks" : "instr.";
  for (const SizeRow& row : rows) {
    const double cost =
        of == Of::worst ? static_cast<double>(row.cost[unit].max) : mean_cost(row, unit);
    plot.points.emplace_back(static_cast<double>(row.size), cost);
  }
  const Growth& growth = profile.growth(routine, of);
  for (const LinePoint& point : growth.line) plot.curve.emplace_back(point.size, point.cost);
  add_plot(plot, fmt::format("{}: {}", title, growth_words(growth)), text);
}

void add_workload_plot(const Profile& profile, const Routine& routine, Text& text) {
  const std::vector<SizeRow>& rows = shown_rows(profile, routine);
  Plot plot;
  plot.is_logarithmic = is_logarithmic(rows);
  plot.x_name = fmt::format("{}, cells", name_of_metric(profile.metric));
  plot.y_name = "calls";
  for (const SizeRow& row : rows) {
    plot.points.emplace_back(static_cast<double>(row.size), static_cast<double>(row.calls));
  }
  add_plot(plot, "Workload: calls by size", text);
}

void add_growth(const Profile& profile, const Routine& routine, Text& text) {
  text.line("{}", text.colored(fmt::format("{:<8}{:<26}{:<26}{:<20}", "by", "mean cost",
                                           "worst cost", "own cost"),
                               kDim));
  for (const Metric metric : {Metric::trms, Metric::rms}) {
    const auto words = [&](Of of) { return growth_words(routine.of(metric, profile.cost, of)); };
    text.line("{:<8}{}{}{}", name_of_metric(metric), padded(words(Of::mean), 26),
              padded(words(Of::worst), 26), words(Of::own));
  }
  if (!routine.disagreement.empty())
    text.paragraph("The metrics disagree: " + routine.disagreement);
  text.blank();
}

void add_input(const Routine& routine, Text& text) {
  text.paragraph(fmt::format(
      "Of its input by trms, {} % was written by the kernel and {} % by other threads during the "
      "call. trms has {} distinct sizes and rms {} (richness {}); {} % of the input is not in rms.",
      percent(routine.external_share), percent(routine.thread_share), routine.rows[0].size(),
      routine.rows[1].size(), number(routine.richness, 2), percent(routine.volume)));
  text.blank();
}

void add_threads(const Profile& profile, const Routine& routine, Text& text) {
  if (routine.threads.size() < 2) return;
  const auto unit = static_cast<std::size_t>(profile.cost);
  std::vector<ThreadPart> threads = routine.threads;
  std::stable_sort(threads.begin(), threads.end(), [&](const ThreadPart& a, const ThreadPart& b) {
    return a.share[unit] > b.share[unit];
  });
  text.line("{}",
            text.colored(fmt::format("{:>7}  {:>11}  {}", "share %", "calls", "thread"), kDim));
  for (std::size_t i = 0; i < std::min(kMostThreads, threads.size()); ++i) {
    const ThreadPart& thread = threads[i];
    text.line("{:>7}  {:>11}  {} {}{}", percent(thread.share[unit]), grouped(thread.calls),
              thread.number, printable(thread.name),
              profile.runs > 1 ? " of run " + printable(thread.run) : "");
  }
  if (threads.size() > kMostThreads) {
    text.line("and {} more threads", threads.size() - kMostThreads);
  }
  text.blank();
}

// Rows from the smallest size to the largest, at even steps if there are too many.
void add_sizes(const Profile& profile, const Routine& routine, Text& text) {
  const auto unit = static_cast<std::size_t>(profile.cost);
  const std::vector<SizeRow>& rows = shown_rows(profile, routine);
  text.line("{}", text.colored(fmt::format("{:>13}  {:>11}  {:>15}  {:>15}  {:>15}",
                                           name_of_metric(profile.metric), "calls", "mean", "worst",
                                           "own mean"),
                               kDim));
  const std::size_t shown = std::min(kMostRows, rows.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const SizeRow& row = rows[shown < 2 ? 0 : i * (rows.size() - 1) / (shown - 1)];
    const double own = static_cast<double>(row.own[unit].sum) / static_cast<double>(row.calls);
    text.line("{:>13}  {:>11}  {:>15}  {:>15}  {:>15}", grouped(row.size), grouped(row.calls),
              cost_words(mean_cost(row, unit)), grouped(row.cost[unit].max), cost_words(own));
  }
  if (shown < rows.size()) {
    text.line("{}", text.colored(fmt::format("{} of {} sizes", shown, rows.size()), kDim));
  }
  text.blank();
}

}  // namespace

std::string render_routine_text(const Profile& profile, const Routine& routine,
                                const TextOptions& options) {
  Text text(options.color, options.width);
  add_verdict(routine_words(profile, routine), options, text);
  text.line(
      "{}+0x{:x}{}", printable(routine.module), routine.offset,
      routine.file.empty() ? "" : fmt::format(", {}:{}", printable(routine.file), routine.line));
  add_notes(profile, text);
  text.blank();
  add_growth(profile, routine, text);
  add_cost_plot(profile, routine, Of::mean, "Mean cost", text);
  add_cost_plot(profile, routine, Of::worst, "Worst cost", text);
  add_workload_plot(profile, routine, text);
  add_input(routine, text);
  add_threads(profile, routine, text);
  add_sizes(profile, routine, text);
  text.line("next: causalctl report {} --format html -o inputs.html", profile.logs);
  return text.take();
}

}  // namespace causalctl::report::inputs
