// Renders call paths as text (docs/callpath-format.md, "text"): what was sampled and how complete
// it is, the tree of functions, and the functions with their callers. Words repeat everything that
// colour says.
//
// The tree is folded: a subtree is opened as far as its share of the time deserves, and further
// along the hot path, which follows the largest child while it has half of its parent's time. Of
// functions that call each other in turn, without anything else, the first rounds are shown.
#include "controller/report/text.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "controller/base/number.h"
#include "controller/report/callpath/calls.h"
#include "controller/report/callpath/epoch_table.h"
#include "controller/report/callpath/head.h"
#include "controller/report/callpath/labels.h"
#include "controller/report/callpath/program_table.h"
#include "controller/report/callpath/render.h"
#include "controller/report/short_names.h"

namespace causalctl::report::callpath {
namespace {

constexpr double kShownOnHotPath = 0.01;  // share of all from which a node is shown
constexpr double kShownElsewhere = 0.05;
constexpr double kShownByPath = 0.005;
constexpr double kHot = 0.5;  // share of its parent from which the largest child is hot
constexpr double kShownInTable = 0.001;
constexpr std::size_t kRounds = 4;        // of recursion that are shown
constexpr std::size_t kLongestRound = 8;  // functions that call each other in turn
constexpr std::size_t kFunctions = 20;    // most functions in the overview
constexpr std::size_t kCallers = 3;
constexpr std::size_t kCallerWidth = 40;
constexpr std::size_t kNarrowestName = 12;
constexpr std::size_t kValueWidth = 10;  // of a column besides the first
constexpr std::size_t kFirstWidth = 34;  // of the first column and what belongs to it
constexpr std::size_t kNameRoom = 24;    // columns of events must leave as much for names

std::string value_words(std::uint64_t value, const std::string& unit) {
  if (value == 0) return "·";
  return unit == "nanoseconds" ? duration(static_cast<Nanoseconds>(value)) : grouped(value);
}

// Returns how many columns the words of any value up to `most` need: "1 min 59 s" is longer than "2
// min 5 s".
std::size_t width_of_values(std::uint64_t most, const std::string& unit) {
  const std::string words = value_words(most, unit);
  const bool has_minutes = words.find("min") != std::string::npos;
  return has_minutes ? words.find("min") + columns("min 59 s") : columns(words);
}

// What a tree and tables show.
struct View {
  View(const Profile& shown, Labels by)
      : profile(shown),
        labels(std::move(by)),
        tree(merged(profile, labels)),
        children(tree),
        names(short_names(labels, tree)) {
    for (std::size_t i = 0; i < profile.columns.size(); ++i) {
      const Column& column = profile.columns[i];
      const std::size_t widest = width_of_values(tree.total[i][0], column.unit);
      widths.push_back(std::max(kValueWidth, std::max(columns(column.name), widest) + 2));
    }
  }

  const Profile& profile;
  Labels labels;
  LabelTree tree;
  Children children;
  ShortNames names;
  std::vector<std::size_t> widths;  // of the columns, as characters
};

// The columns that are shown as values: all but the first and the samples; of those of events, and
// beside an event's, as many as fit.
std::vector<std::size_t> value_columns(const View& view, std::size_t width) {
  const std::vector<Column>& all = view.profile.columns;
  std::vector<std::size_t> columns;
  std::size_t used = kFirstWidth;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i].name == "samples") continue;
    const bool may_be_left_out = all[i].is_event || all[0].is_event;
    if (may_be_left_out && used + view.widths[i] + kNameRoom > width) continue;
    columns.push_back(i);
    used += view.widths[i];
  }
  return columns;
}

// Writes tables whose rows end with a name.
class Table {
 public:
  Table(const View& view, Text& out)
      : view_(view),
        all_(view.tree.total),
        samples_(samples_column(view.profile)),
        values_(value_columns(view, out.width())),
        out_(out) {}

  void head(std::string_view first, std::string_view second, std::string_view name) {
    std::string text = fmt::format("{:>8}  {:<13} {:>8}", first, samples_ ? "[95 %]" : "", second);
    for (const std::size_t column : values_) {
      text += right_aligned(view_.profile.columns[column].name, view_.widths[column]);
    }
    out_.line("{}", out_.colored(text + "  " + std::string(name), kDim));
  }

  // `first` and `second` are the values of which the shares are shown, the first one with its
  // interval; `values` are those of the other columns; all by column and row.
  void row(const std::vector<std::vector<std::uint64_t>>& first,
           const std::vector<std::vector<std::uint64_t>>& second,
           const std::vector<std::vector<std::uint64_t>>& values, std::size_t row,
           const std::string& prefix, std::uint32_t label, std::string_view mark, bool bold) {
    std::string text = share_words(first[0][row]) + "  " +
                       padded(samples_ ? interval_words(first[0][row]) : "", 13) + " " +
                       share_words(second[0][row]);
    for (const std::size_t column : values_) {
      text += right_aligned(value_words(values[column][row], view_.profile.columns[column].unit),
                            view_.widths[column]);
    }
    text += "  " + prefix;
    const std::string shown = named(label, room(columns(text) + columns(mark))) + std::string(mark);
    out_.line("{}{}", text, bold ? out_.colored(shown, kBold) : shown);
  }

  std::string named(std::uint32_t label, std::size_t width) const {
    return view_.names.fit(printable(view_.labels.all[label].name), width);
  }
  // Returns how many columns are left for a name after `used`.
  std::size_t room(std::size_t used) const {
    return std::max(kNarrowestName, out_.width() > used ? out_.width() - used : 0);
  }
  std::size_t width_before_names() const {
    std::size_t width = kFirstWidth;
    for (const std::size_t column : values_) width += view_.widths[column];
    return width;
  }

 private:
  std::string share_words(std::uint64_t value) const {
    return fmt::format("{:>6} %", percent(share_of(value, all_[0][0])));
  }
  // The interval of a share that is known from as many samples as there are.
  std::string interval_words(std::uint64_t value) const {
    const Interval interval = sampled_share(value, all_[0][0], all_[*samples_][0]);
    return fmt::format("[{}, {}]", percent(interval.low), percent(interval.high));
  }

  const View& view_;
  const std::vector<std::vector<std::uint64_t>>& all_;
  std::optional<std::size_t> samples_;
  std::vector<std::size_t> values_;
  Text& out_;
};

// Writes the tree, folded.
class TreeText {
 public:
  TreeText(const View& view, bool fold, Text& out)
      : tree_(view.tree), children_(view.children), fold_(fold), table_(view, out), out_(out) {}

  void write();

 private:
  struct Todo {
    std::uint32_t node = 0;
    std::string own_prefix;    // before its name
    std::string below_prefix;  // before the names of what is below it
    bool hot = false;
    std::size_t folded = 0;  // if not 0, the line stands for as many nodes
    std::uint64_t folded_total = 0;
  };

  void push_children(const Todo& above);
  std::vector<std::uint32_t> shown_children(const Todo& above) const;
  std::string fitted(const std::string& prefix) const;
  bool goes_round() const;
  void write_rounds();

  const LabelTree& tree_;
  const Children& children_;
  bool fold_;
  Table table_;
  Text& out_;
  std::vector<Todo> todo_;
  std::vector<std::uint32_t> chain_;  // labels of the present line, and of those above that have no
                                      // other child
  std::size_t rounds_ = 0;            // lines of recursion since the last one that was written
  Todo last_of_rounds_;
};

std::vector<std::uint32_t> TreeText::shown_children(const Todo& above) const {
  const double least = !fold_ ? kShownByPath : above.hot ? kShownOnHotPath : kShownElsewhere;
  std::vector<std::uint32_t> shown;
  for (const std::uint32_t* child = children_.begin(above.node); child != children_.end(above.node);
       ++child) {
    if (share_of(tree_.total[0][*child], tree_.total[0][0]) >= least) shown.push_back(*child);
  }
  return shown;
}

// Only children stand below their parent, so that a long chain stays in its column.
void TreeText::push_children(const Todo& above) {
  const std::vector<std::uint32_t> shown = shown_children(above);
  std::uint64_t rest = 0;
  for (const std::uint32_t* child = children_.begin(above.node); child != children_.end(above.node);
       ++child) {
    rest += tree_.total[0][*child];
  }
  for (const std::uint32_t child : shown) rest -= tree_.total[0][child];
  const std::size_t folded = children_.size(above.node) - shown.size();
  const bool tells_rest =
      !shown.empty() && folded > 0 && share_of(rest, tree_.total[0][0]) >= kShownOnHotPath;
  const bool branches = shown.size() + (tells_rest ? 1 : 0) > 1;
  const auto prefixes = [&](Todo& todo, bool last) {
    todo.own_prefix = above.below_prefix + (branches ? (last ? "└─ " : "├─ ") : "");
    todo.below_prefix = above.below_prefix + (branches ? (last ? "   " : "│  ") : "");
  };
  // The last one to be written goes in first.
  if (tells_rest) {
    Todo todo;
    todo.folded = folded;
    todo.folded_total = rest;
    prefixes(todo, true);
    todo_.push_back(std::move(todo));
  }
  for (std::size_t i = shown.size(); i-- > 0;) {
    Todo todo;
    todo.node = shown[i];
    todo.hot = above.hot && i == 0 &&
               share_of(tree_.total[0][shown[i]], tree_.total[0][above.node]) >= kHot;
    prefixes(todo, i + 1 == shown.size() && !tells_rest);
    todo_.push_back(std::move(todo));
  }
}

// A prefix that would leave no room for the name loses its beginning.
std::string TreeText::fitted(const std::string& prefix) const {
  const std::size_t most = table_.room(table_.width_before_names()) / 2;
  return columns(prefix) <= most ? prefix : shortened(prefix, most);
}

// Whether the end of the chain repeats, for the last time of at least kRounds, what is before.
bool TreeText::goes_round() const {
  for (std::size_t round = 1; round <= kLongestRound; ++round) {
    const std::size_t same = kRounds * round - round + 1;
    if (chain_.size() < same + round) return false;
    if (std::equal(chain_.end() - static_cast<std::ptrdiff_t>(same), chain_.end(),
                   chain_.end() - static_cast<std::ptrdiff_t>(same + round))) {
      return true;
    }
  }
  return false;
}

void TreeText::write_rounds() {
  if (rounds_ == 0) return;
  const Todo& last = last_of_rounds_;
  out_.line("{:>6} %{}{}… {} more calls of the same (recursion)",
            percent(share_of(tree_.total[0][last.node], tree_.total[0][0])),
            std::string(table_.width_before_names() - 8, ' '), fitted(last.own_prefix), rounds_);
  rounds_ = 0;
}

void TreeText::write() {
  table_.head("total", "own", "path");
  Todo root;
  root.hot = true;
  push_children(root);
  bool is_only_child = false;
  while (!todo_.empty()) {
    Todo todo = std::move(todo_.back());
    todo_.pop_back();
    if (!std::exchange(is_only_child, false)) {
      write_rounds();
      chain_.clear();
    }
    if (todo.folded > 0) {
      out_.line("{:>6} %{}{}… {} more", percent(share_of(todo.folded_total, tree_.total[0][0])),
                std::string(table_.width_before_names() - 8, ' '), fitted(todo.own_prefix),
                todo.folded);
      continue;
    }
    const std::size_t before = todo_.size();
    push_children(todo);
    is_only_child = todo_.size() == before + 1 && todo_.back().folded == 0;
    chain_.push_back(tree_.nodes[todo.node].label);
    if (goes_round()) {
      ++rounds_;
      last_of_rounds_ = std::move(todo);
      continue;
    }
    write_rounds();
    table_.row(tree_.total, tree_.own, tree_.total, todo.node, fitted(todo.own_prefix),
               tree_.nodes[todo.node].label, tree_.nodes[todo.node].tail ? " (tail call)" : "",
               todo.hot);
  }
  write_rounds();
}

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

void write_table(const View& view, std::string_view name, std::size_t most, bool with_callers,
                 Text& out) {
  const LabelValues values = values_of(view.tree, view.children, view.labels);
  Table table(view, out);
  table.head("own", "total", name);
  const std::vector<std::uint32_t> rows = ranked(values, view.tree.total[0][0]);
  std::vector<Callers> callers;
  if (with_callers) callers = callers_by_label(view);
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
    table.row(values.own, values.total, values.own, rows[i], "", rows[i], "", false);
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

void write_header(const Profile& profile, Text& out) {
  out.line("{}", out.colored(fmt::format("{}: {}", program_words(profile), sampling_words(profile)),
                             kBold));
  for (const std::string& line : time_lines(profile)) out.paragraph(line);
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
  if (by == By::path) return TreeText(view, false, out).write();
  if (by == By::overview) {
    TreeText(view, true, out).write();
    out.blank();
  }
  write_table(view, "function", by == By::overview ? kFunctions : SIZE_MAX, true, out);
}

}  // namespace

std::string render_text(const Profile& all, By by, bool color, int width) {
  Text out(color, width);
  const Profile profile = without_calls(all);
  write_header(profile, out);
  write_programs(profile, out);
  write_epochs(profile, out);
  bool any = by == By::calls;
  if (any) write_calls(all, out);
  for (std::size_t column = 0; column < profile.columns.size(); ++column) {
    const Column& each = profile.columns[column];
    if (by == By::calls || (column > 0 && profile.first_only)) break;
    const bool has_tree =
        each.is_event || each.name == "blocked" || each.name == "stopped" || each.name == "frozen";
    if (column > 0 && !has_tree) continue;
    if (totals(profile, column)[0] == 0) continue;
    any = true;
    write_ranked(ranked_by(profile, column), by, out);
  }
  if (!any) out.line("Nothing was sampled.");
  if (!profile.warnings.empty()) out.blank();
  for (const std::string& warning : profile.warnings) {
    out.paragraph("warning: " + printable(warning));
  }
  return out.take();
}

}  // namespace causalctl::report::callpath
