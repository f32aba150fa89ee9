// Renders call paths as text (docs/callpath-format.md, "text"): where the threads' time went, how
// complete the samples are, the tree of functions, and the functions with their callers. Words
// repeat everything that colour says.
#include "controller/report/text.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "controller/base/number.h"
#include "controller/report/callpath/calls.h"
#include "controller/report/callpath/epoch_table.h"
#include "controller/report/callpath/head.h"
#include "controller/report/callpath/labels.h"
#include "controller/report/callpath/program_table.h"
#include "controller/report/callpath/render.h"
#include "controller/report/callpath/tables.h"
#include "controller/report/callpath/time_summary.h"
#include "controller/report/callpath/tree_text.h"

namespace causalctl::report::callpath {
namespace {

constexpr double kShownInTable = 0.001;
constexpr std::size_t kFunctions = 10;  // most functions in the overview
constexpr std::size_t kCallers = 3;
constexpr std::size_t kCallerWidth = 40;

// The labels with a share worth showing, those with the most of their own first.
std::vector<std::uint32_t> ranked(const LabelValues& values, std::uint64_t all) {
  std::vector<std::uint32_t> rows;
  for (std::uint32_t label = 0; label < values.own[0].size(); ++label) {
    if (share_of(values.total[0][label], all) >= kShownInTable) rows.push_back(label);
  }
  std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(values.own[0][a], values.total[0][a]) >
           std::pair(values.own[0][b], values.total[0][b]);
  });
  return rows;
}

// What the callers of each function have of the time that is its own.
struct Callers {
  std::map<std::uint32_t, std::uint64_t> sums;  // by label
  std::uint64_t all = 0;                        // also of what has no caller
};

// A function that calls itself is not its caller.
std::vector<Callers> callers_by_label(const View& view) {
  const LabelTree& tree = view.tree;
  std::vector<Callers> callers(view.labels.all.size());
  for (std::uint32_t node = 1; node < tree.nodes.size(); ++node) {
    if (tree.own[0][node] == 0) continue;
    const std::uint32_t label = tree.nodes[node].label;
    std::uint32_t at = tree.nodes[node].parent;
    while (at != 0 && tree.nodes[at].label == label) at = tree.nodes[at].parent;
    if (at != 0) callers[label].sums[tree.nodes[at].label] += tree.own[0][node];
    callers[label].all += tree.own[0][node];
  }
  return callers;
}

// "a 70.0 %, b 20.0 %, no known caller 10.0 %", with as many callers as fit into `room`, and one at
// least.
std::string caller_words(const Callers& callers, const Table& table, std::size_t room) {
  constexpr double kTold = 0.005;  // share without a caller from which it is told
  std::vector<std::pair<std::uint64_t, std::uint32_t>> sorted;
  std::uint64_t unknown = callers.all;
  for (const auto& [label, value] : callers.sums) {
    sorted.emplace_back(value, label);
    unknown -= value;
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> words;
  const auto share_words = [&](std::uint64_t value) {
    return fmt::format(" {} %", percent(share_of(value, callers.all)));
  };
  const auto text_of = [&](std::size_t shown) {
    std::vector<std::string> words;
    for (std::size_t i = 0; i < shown; ++i) {
      const std::string value = share_words(sorted[i].first);
      const std::size_t width = std::min(kCallerWidth, room - std::min(room, columns(value)));
      words.push_back(table.named(sorted[i].second, std::max(kNarrowestName, width)) + value);
    }
    if (sorted.size() > shown) words.push_back(fmt::format("{} more", sorted.size() - shown));
    if (!words.empty() && share_of(unknown, callers.all) >= kTold) {
      words.push_back("no known caller" + share_words(unknown));
    }
    return fmt::format("{}", fmt::join(words, ", "));
  };
  std::size_t shown = std::min(kCallers, sorted.size());
  while (shown > 1 && columns(text_of(shown)) > room) --shown;
  return text_of(shown);
}

// `most`: SIZE_MAX also shows those that have nothing of their own.
void write_table(const View& view, std::string_view name, std::size_t most, bool with_callers,
                 Text& out) {
  const LabelValues values = values_of(view.tree, view.children, view.labels);
  Table table(view, out);
  table.head("own", "total", name);
  const std::vector<std::uint32_t> rows = ranked(values, view.tree.total[0][0]);
  const auto has_own = [&](std::uint32_t label) {
    return table.share_words(values.own[0][label]) != table.share_words(0);
  };
  if (most != SIZE_MAX) {
    most =
        std::min(most, static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), has_own)));
  }
  std::vector<Callers> callers;
  if (with_callers) callers = callers_by_label(view);
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
    const std::string cells = table.cells(values.own, values.total, values.own, rows[i]);
    out.line("{}{}", cells, table.named(rows[i], table.room(columns(cells))));
    if (!with_callers) continue;
    const std::string begin = std::string(table.width_before_names(), ' ') + "called by ";
    const std::string text = caller_words(callers[rows[i]], table, table.room(columns(begin)));
    if (!text.empty()) out.line("{}{}", begin, out.colored(text, kDim));
  }
  if (rows.size() > most) out.line("… {} more: --by {}", rows.size() - most, name);
}

void write_tail_calls(const TailCalls& tails, Text& out) {
  if (tails.found + tails.ambiguous + tails.unexplained == 0) return;
  std::string text =
      fmt::format("In {} % of the calls the caller ended by a jump; it is marked (tail call)",
                  percent(share_of(tails.found, tails.calls)));
  if (tails.ambiguous + tails.unexplained > 0) {
    text += fmt::format(", or missing in {} %, where it is not certain",
                        percent(share_of(tails.ambiguous + tails.unexplained, tails.calls)));
  }
  out.paragraph(text + ".");
}

// Returns what the trees are ranked by, in their order: the columns with a tree and a value.
std::vector<std::size_t> ranked_columns(const Profile& profile, const TimeSummary& summary) {
  std::vector<std::size_t> columns;
  for (std::size_t column = 0; column < profile.columns.size(); ++column) {
    const Column& each = profile.columns[column];
    const bool has_tree = column == 0 || each.is_event || each.name == "blocked" ||
                          each.name == "stopped" || each.name == "frozen";
    if (has_tree && totals(profile, column)[0] > 0) columns.push_back(column);
    if (profile.first_only) return columns;
  }
  if (!summary.waits_most) return columns;
  const auto waits = std::find(columns.begin(), columns.end(), summary.states.front().column);
  if (waits != columns.end()) std::rotate(columns.begin(), waits, waits + 1);
  return columns;
}

void write_header(const Profile& profile, const std::string& summary, Text& out) {
  out.paragraph(summary, kBold);
  for (const std::string& line : time_lines(profile)) out.paragraph(line);
  if (const std::string samples = sampling_words(profile); !summary.ends_with(samples)) {
    out.paragraph(samples);
  }
  if (const std::string chains = chain_words(profile); !chains.empty()) out.paragraph(chains);
  write_tail_calls(profile.tail_calls, out);
  for (const std::string& line : count_lines(profile)) out.paragraph(printable(line));
  for (const std::string& note : profile.notes) out.paragraph(printable(note));
}

// Writes what the first column says.
void write_ranked(const Profile& profile, By by, Text& out) {
  const Column& column = profile.columns[0];
  out.blank();
  out.line("{}", out.colored(fmt::format("{}: {} in all", column.title,
                                         value_words(totals(profile, 0)[0], column.unit)),
                             kBold));
  const bool of_lines = by == By::line || by == By::path;
  const View view(profile, of_lines ? by_line(profile) : by_function(profile));
  if (by == By::line) return write_table(view, "line", SIZE_MAX, false, out);
  if (by == By::path) return write_tree(view, false, out);
  if (by == By::overview) {
    write_tree(view, true, out);
    out.blank();
  }
  write_table(view, "function", by == By::overview ? kFunctions : SIZE_MAX, true, out);
}

}  // namespace

std::string render_text(const Profile& all, By by, bool color, int width) {
  Text out(color, width);
  const Profile profile = without_calls(all);
  const Labels labels = by_function(profile);
  const TimeSummary summary = summary_of(profile, labels);
  write_header(profile,
               words_of(summary, profile, labels, short_names(labels, merged(profile, labels))),
               out);
  write_programs(profile, out);
  write_epochs(profile, out);
  if (by == By::calls) {
    write_calls(all, out);
  } else {
    const std::vector<std::size_t> ranked_by_these = ranked_columns(profile, summary);
    for (const std::size_t column : ranked_by_these) {
      write_ranked(ranked_by(profile, column), by, out);
    }
    if (ranked_by_these.empty()) out.line("Nothing was sampled.");
  }
  if (!profile.warnings.empty()) out.blank();
  for (const std::string& warning : profile.warnings) {
    out.paragraph("warning: " + printable(warning));
  }
  return out.take();
}

}  // namespace causalctl::report::callpath
