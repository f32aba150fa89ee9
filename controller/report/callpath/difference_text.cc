// Renders what changed between two recordings as text (docs/callpath.md, "What changed").
#include <algorithm>
#include <cmath>
#include <numeric>

#include "controller/report/callpath/difference.h"
#include "controller/report/callpath/head.h"
#include "controller/report/callpath/render.h"
#include "controller/report/short_names.h"
#include "controller/report/text.h"

namespace causalctl::report::callpath {
namespace {

constexpr std::size_t kMostChanges = 20;  // in the overview
constexpr std::size_t kValueColumn = 10;
constexpr std::size_t kIntervalColumn = 20;
constexpr std::size_t kVerdictColumn = 10;
constexpr std::size_t kBeforeNames = 3 * kValueColumn + kIntervalColumn + kVerdictColumn;
constexpr double kToldAlone =
    0.05;                   // share of functions of one recording only, from which it is told
constexpr int kDigits = 4;  // of the largest value of a table

// In which unit the values of a table are written.
struct Scale {
  double factor = 100;
  const char* unit = "%";
  int digits = 1;
};

Scale scale_of(const Sides& sides, double largest) {
  if (sides.per.empty()) return {};
  Scale scale{1, "", 0};
  if (sides.metric.unit == "nanoseconds") {
    constexpr std::pair<double, const char*> kUnits[] = {
        {1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}};
    const auto* unit = std::find_if(std::begin(kUnits), std::end(kUnits) - 1,
                                    [&](const auto& each) { return largest >= each.first; });
    scale.factor = 1 / unit->first;
    scale.unit = unit->second;
  }
  const double shown = largest * scale.factor;
  const int whole = shown >= 1 ? static_cast<int>(std::log10(shown)) + 1 : 1;
  scale.digits = std::max(0, kDigits - whole);
  return scale;
}

const char* word_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::more:
      return "more";
    case Verdict::less:
      return "less";
    case Verdict::perhaps:
      return "perhaps";
    default:
      return "";
  }
}

bool is_told(Verdict verdict) { return *word_of(verdict) != '\0'; }

std::string signed_number(double value, int digits) {
  const std::string text = number(value, digits);
  const bool is_zero = text.find_first_not_of("0.") == std::string::npos;
  return is_zero || text[0] == '-' ? text : "+" + text;
}

// Writes tables whose rows end with a name.
class ChangeTable {
 public:
  // `names` are those of the rows, and are borrowed.
  ChangeTable(Scale scale, const ShortNames& names, Text& out)
      : scale_(scale), names_(names), out_(out) {}

  void head(std::string_view name) {
    const std::string text = fmt::format("{:>{}}{:>{}}{:>{}}  {:<{}}{:<{}}{}", "OLD", kValueColumn,
                                         "NEW", kValueColumn, "change", kValueColumn, "[95 %]",
                                         kIntervalColumn - 2, "", kVerdictColumn, name);
    out_.line("{}", out_.colored(text, kDim));
  }
  void row(const Compared& row, const std::string& prefix, const std::string& name) {
    const Change& change = row.change;
    std::string text = right_aligned(value(change.before), kValueColumn) +
                       right_aligned(value(change.after), kValueColumn);
    text += right_aligned(
        signed_number((change.after - change.before) * scale_.factor, scale_.digits), kValueColumn);
    text += "  " + padded(interval(change), kIntervalColumn - 2);
    const std::string_view code = row.verdict == Verdict::more   ? kRed
                                  : row.verdict == Verdict::less ? kGreen
                                                                 : kDim;
    const std::string verdict = padded(word_of(row.verdict), kVerdictColumn);
    const std::string shown = names_.fit(printable(name), room(columns(prefix)));
    out_.line("{}{}{}{}", text, is_told(row.verdict) ? out_.colored(verdict, code) : verdict,
              prefix, shown);
  }
  // Returns how many columns are left for a name after `used` of those for names.
  std::size_t room(std::size_t used) const {
    const std::size_t all = kBeforeNames + used;
    return std::max<std::size_t>(12, out_.width() > all ? out_.width() - all : 0);
  }

 private:
  std::string value(double each) const {
    return fmt::format("{}{}{}", number(each * scale_.factor, scale_.digits),
                       *scale_.unit == '\0' ? "" : " ", scale_.unit);
  }
  std::string interval(const Change& change) const {
    if (!change.difference) return "";
    return fmt::format("[{}, {}]",
                       signed_number(change.difference->low * scale_.factor, scale_.digits),
                       signed_number(change.difference->high * scale_.factor, scale_.digits));
  }

  Scale scale_;
  const ShortNames& names_;
  Text& out_;
};

double largest_of(const Family& family) {
  double largest = 0;
  for (const Compared& each : family.rows) {
    largest = std::max({largest, each.change.before, each.change.after});
  }
  return largest;
}

// What the rows that are not shown have together.
void write_rest(const Family& family, const std::vector<std::uint32_t>& rest, const Scale& scale,
                std::string_view things, Text& out) {
  if (rest.empty()) return;
  double before = 0;
  double after = 0;
  for (const std::uint32_t row : rest) {
    before += family.rows[row].change.before;
    after += family.rows[row].change.after;
  }
  out.paragraph(fmt::format(
      "No change that can be told: {} {}, together OLD {}{}{}, NEW {}{}{}.", rest.size(), things,
      number(before * scale.factor, scale.digits), *scale.unit == '\0' ? "" : " ", scale.unit,
      number(after * scale.factor, scale.digits), *scale.unit == '\0' ? "" : " ", scale.unit));
}

void write_certainty(const Family& family, std::string_view things, Text& out) {
  if (family.compared == 0) return;
  std::string text = fmt::format("Of {} {} that were compared, ", family.compared, things);
  text += family.changed == 0 ? "none has changed for certain."
                              : fmt::format(
                                    "{} changed (\"more\", \"less\"): with a probability of "
                                    "95 % none of these by chance.",
                                    family.changed);
  if (family.perhaps > 0) {
    text += fmt::format(
        " By their own intervals alone, {} more did (\"perhaps\"); by chance about {} would.",
        family.perhaps, number(kChance * static_cast<double>(family.compared), 1));
  }
  out.paragraph(text);
}

// What one recording only has.
void write_alone(const DifferenceTable& table, Text& out) {
  double only_old = 0;
  double only_new = 0;
  for (const Compared& each : table.own.rows) {
    if (each.change.after == 0) only_old += each.change.before;
    if (each.change.before == 0) only_new += each.change.after;
  }
  if (std::max(only_old, only_new) < kToldAlone) return;
  out.paragraph(fmt::format(
      "Functions that OLD has alone: {} %, NEW alone: {} %. They may have been renamed or inlined, "
      "or one of the two builds lacks debug information.",
      percent(only_old), percent(only_new)));
}

void write_changes(const Sides& sides, DifferenceTable table, std::size_t most, bool only_told,
                   std::string_view thing, Text& out) {
  const Scale scale = scale_of(sides, largest_of(table.own));
  const std::string things = std::string(thing) + "s";
  const ShortNames names = short_names(table.labels, table.tree);
  ChangeTable rows(scale, names, out);
  std::vector<std::uint32_t> shown = ranked_changes(table.own);
  std::vector<std::uint32_t> rest;
  if (only_told) {
    const auto first_rest = std::find_if(shown.begin(), shown.end(), [&](std::uint32_t row) {
      return !is_told(table.own.rows[row].verdict) &&
             table.own.rows[row].verdict != Verdict::unknown;
    });
    rest.assign(first_rest, shown.end());
    shown.erase(first_rest, shown.end());
  }
  if (!shown.empty()) rows.head(thing);
  for (std::size_t i = 0; i < std::min(most, shown.size()); ++i) {
    rows.row(table.own.rows[shown[i]], "", table.labels.all[shown[i]].name);
  }
  if (shown.size() > most) out.line("… {} more: --by {}", shown.size() - most, thing);
  write_rest(table.own, rest, scale, things, out);
  write_certainty(table.own, things, out);
  if (sides.per.empty()) write_alone(table, out);
}

// Writes the paths that changed, or all that were compared.
class ChangeTree {
 public:
  ChangeTree(const Sides& sides, DifferenceTree tree, bool only_told, Text& out)
      : tree_(std::move(tree)),
        names_(short_names(tree_.labels, tree_.tree)),
        scale_(scale_of(sides, largest_of(tree_.total))),
        table_(scale_, names_, out),
        below_(tree_.tree.nodes.size()),
        children_(tree_.tree.nodes.size()) {
    const auto& nodes = tree_.tree.nodes;
    for (std::uint32_t node = static_cast<std::uint32_t>(nodes.size()); node-- > 1;) {
      const Verdict verdict = tree_.total.rows[node].verdict;
      const bool wanted = only_told ? is_told(verdict) : verdict != Verdict::too_small;
      if (!wanted && !below_[node]) continue;
      below_[nodes[node].parent] = true;
      children_[nodes[node].parent].push_back(node);
    }
  }

  bool write();
  const Family& family() const { return tree_.total; }

 private:
  struct Todo {
    std::uint32_t node = 0;
    std::string own_prefix;
    std::string below_prefix;
  };
  void push_children(const Todo& above, std::vector<Todo>& todo);

  DifferenceTree tree_;
  ShortNames names_;
  Scale scale_;
  ChangeTable table_;
  std::vector<bool> below_;  // whether something is shown below a node
  std::vector<std::vector<std::uint32_t>> children_;
};

void ChangeTree::push_children(const Todo& above, std::vector<Todo>& todo) {
  std::vector<std::uint32_t>& list = children_[above.node];
  const auto size = [&](std::uint32_t node) {
    const Change& change = tree_.total.rows[node].change;
    return std::pair(std::abs(change.after - change.before), change.after);
  };
  std::stable_sort(list.begin(), list.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return size(a) > size(b); });
  const bool branches = list.size() > 1;
  for (std::size_t i = list.size(); i-- > 0;) {
    const bool last = i + 1 == list.size();
    todo.push_back({list[i], above.below_prefix + (branches ? (last ? "└─ " : "├─ ") : ""),
                    above.below_prefix + (branches ? (last ? "   " : "│  ") : "")});
  }
}

// Returns whether there was anything.
bool ChangeTree::write() {
  if (children_[0].empty()) return false;
  table_.head("path, with all that it calls");
  std::vector<Todo> todo;
  push_children({}, todo);
  while (!todo.empty()) {
    const Todo next = std::move(todo.back());
    todo.pop_back();
    const std::size_t most = table_.room(0) / 2;
    const std::string prefix =
        columns(next.own_prefix) <= most ? next.own_prefix : shortened(next.own_prefix, most);
    table_.row(tree_.total.rows[next.node], prefix,
               tree_.labels.all[tree_.tree.nodes[next.node].label].name);
    push_children(next, todo);
  }
  return true;
}

std::string measure_words(const Sides& sides) {
  if (sides.per.empty()) return "Shares of: " + sides.metric.title;
  if (sides.per == "second") return sides.metric.title + " in a second";
  return fmt::format("{}, divided by: {}", sides.metric.title, sides.per_title);
}

void write_head(const Sides& sides, Text& out) {
  const auto side = [&](const char* which, const Profile& head) {
    return fmt::format("{}: {}: {}", which, program_words(head), sampling_words(head));
  };
  out.line("{}", out.colored(side("NEW", sides.after.head), kBold));
  out.line("{}", out.colored(side("OLD", sides.before.head), kBold));
  for (const std::string& note : sides.notes) out.paragraph(printable(note));
  for (const auto& [which, head] :
       {std::pair("NEW", &sides.after.head), std::pair("OLD", &sides.before.head)}) {
    for (const std::string& line : time_and_notes(*head)) {
      out.paragraph(fmt::format("{}: {}", which, line));
    }
  }
  const std::size_t parts = fewest_parts(sides);
  if (parts < kFewestParts) {
    out.paragraph(
        "The recordings have too few parts to see how alike samples of one moment are: changes are "
        "less certain than said here. " +
        sides.more_parts);
  }
}

void write_all(const Sides& sides, Text& out) {
  out.blank();
  out.line("{}", out.colored(measure_words(sides), kBold));
  if (sides.per.empty()) return;
  Compared all;
  all.change = change_of_all(sides);
  if (all.change.p_value <= kChance) {
    all.verdict = all.change.after > all.change.before ? Verdict::more : Verdict::less;
  }
  const ShortNames names({});
  ChangeTable table(scale_of(sides, std::max(all.change.before, all.change.after)), names, out);
  table.head("");
  table.row(all, "", "all paths");
  out.blank();
}

}  // namespace

std::string render_difference_text(const Sides& sides, By by, bool color, int width) {
  Text out(color, width);
  write_head(sides, out);
  write_all(sides, out);
  if (by == By::line) {
    write_changes(sides, table_of_changes(sides, by_known_line(sides.profile)), SIZE_MAX, false,
                  "line", out);
  } else if (by == By::path) {
    ChangeTree tree(sides, tree_of_changes(sides, by_known_line(sides.profile)), false, out);
    tree.write();
    write_certainty(tree.family(), "paths", out);
  } else {
    const bool overview = by == By::overview;
    write_changes(sides, table_of_changes(sides, by_function(sides.profile)),
                  overview ? kMostChanges : SIZE_MAX, overview, "function", out);
    if (overview) {
      out.blank();
      ChangeTree tree(sides, tree_of_changes(sides, by_function(sides.profile)), true, out);
      if (!tree.write()) out.line("No path has changed as far as can be told.");
    }
  }
  bool any = false;
  for (const Profile* head : {&sides.after.head, &sides.before.head}) {
    for (const std::string& warning : head->warnings) {
      if (!std::exchange(any, true)) out.blank();
      out.paragraph(fmt::format("warning: {}: {}", head == &sides.after.head ? "NEW" : "OLD",
                                printable(warning)));
    }
  }
  return out.take();
}

}  // namespace causalctl::report::callpath
