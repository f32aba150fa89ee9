#include "controller/report/callpath/tree_text.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/number.h"

namespace causalctl::report::callpath {
namespace {

constexpr double kShownOnHotPath = 0.01;  // share of all from which a node is shown
constexpr double kShownElsewhere = 0.05;
constexpr double kShownByPath = 0.005;
constexpr double kHot = 0.5;              // share of its parent from which the largest child is hot
constexpr std::size_t kRounds = 4;        // of recursion that are shown
constexpr std::size_t kLongestRound = 8;  // functions that call each other in turn
constexpr const char* kThen = " › ";      // between functions that share a line

struct Row {
  enum class Kind : std::uint8_t { function, more, rounds };
  Kind kind = Kind::function;
  std::uint32_t node = 0;
  std::string own_prefix;    // before its name
  std::string later_prefix;  // before names that share the row, from its second line on
  std::string below_prefix;  // before the names of what is below it
  bool hot = false;
  bool is_only_child = false;           // of the row before it
  std::size_t count = 0;                // of nodes that are left out
  std::uint64_t total = 0;              // of these
  std::vector<std::uint32_t> before{};  // functions that share the line, outermost first
};

// Lists the rows from the top to the bottom.
class Rows {
 public:
  Rows(const View& view, bool fold) : tree_(view.tree), children_(view.children), fold_(fold) {}

  std::vector<Row> list();

 private:
  void push_children(const Row& above);
  std::vector<std::uint32_t> shown_children(const Row& above) const;
  bool goes_round() const;
  void end_rounds();

  const LabelTree& tree_;
  const Children& children_;
  bool fold_;
  std::vector<Row> rows_;
  std::vector<Row> todo_;
  std::vector<std::uint32_t> chain_;  // labels of the present row, and of those above that have no
                                      // other child
  std::size_t rounds_ = 0;            // rows of recursion since the last one that was listed
  Row last_of_rounds_;
};

std::vector<std::uint32_t> Rows::shown_children(const Row& above) const {
  const double least = !fold_ ? kShownByPath : above.hot ? kShownOnHotPath : kShownElsewhere;
  std::vector<std::uint32_t> shown;
  for (const std::uint32_t* child = children_.begin(above.node); child != children_.end(above.node);
       ++child) {
    if (share_of(tree_.total[0][*child], tree_.total[0][0]) >= least) shown.push_back(*child);
  }
  return shown;
}

// Only children stand below their parent, so that a long chain stays in its column.
void Rows::push_children(const Row& above) {
  const std::vector<std::uint32_t> shown = shown_children(above);
  std::uint64_t rest = 0;
  for (const std::uint32_t* child = children_.begin(above.node); child != children_.end(above.node);
       ++child) {
    rest += tree_.total[0][*child];
  }
  for (const std::uint32_t child : shown) rest -= tree_.total[0][child];
  const std::size_t left_out = children_.size(above.node) - shown.size();
  const bool tells_rest =
      !shown.empty() && left_out > 0 && share_of(rest, tree_.total[0][0]) >= kShownOnHotPath;
  const bool branches = shown.size() + (tells_rest ? 1 : 0) > 1;
  const auto prefixes = [&](Row& row, bool last) {
    row.own_prefix = above.below_prefix + (branches ? (last ? "└─ " : "├─ ") : "");
    row.below_prefix = above.below_prefix + (branches ? (last ? "   " : "│  ") : "");
  };
  // The last one to be listed goes in first.
  if (tells_rest) {
    Row row;
    row.kind = Row::Kind::more;
    row.count = left_out;
    row.total = rest;
    prefixes(row, true);
    todo_.push_back(std::move(row));
  }
  for (std::size_t i = shown.size(); i-- > 0;) {
    Row row;
    row.node = shown[i];
    row.hot = above.hot && i == 0 &&
              share_of(tree_.total[0][shown[i]], tree_.total[0][above.node]) >= kHot;
    row.is_only_child = !branches;
    prefixes(row, i + 1 == shown.size() && !tells_rest);
    todo_.push_back(std::move(row));
  }
}

// Whether the end of the chain repeats, for the last time of at least kRounds, what is before.
bool Rows::goes_round() const {
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

void Rows::end_rounds() {
  if (rounds_ == 0) return;
  Row row = std::move(last_of_rounds_);
  row.kind = Row::Kind::rounds;
  row.count = std::exchange(rounds_, 0);
  row.total = tree_.total[0][row.node];
  rows_.push_back(std::move(row));
}

std::vector<Row> Rows::list() {
  Row root;
  root.hot = true;
  push_children(root);
  while (!todo_.empty()) {
    Row row = std::move(todo_.back());
    todo_.pop_back();
    if (!row.is_only_child) {
      end_rounds();
      chain_.clear();
    }
    if (row.kind == Row::Kind::more) {
      rows_.push_back(std::move(row));
      continue;
    }
    push_children(row);
    chain_.push_back(tree_.nodes[row.node].label);
    if (goes_round()) {
      ++rounds_;
      last_of_rounds_ = std::move(row);
      continue;
    }
    end_rounds();
    rows_.push_back(std::move(row));
  }
  end_rounds();
  return std::move(rows_);
}

class TreeText {
 public:
  TreeText(const View& view, Text& out) : view_(view), table_(view, out), out_(out) {}

  // Lets each function that only calls the one in the next row share that one's line.
  std::vector<Row> joined(std::vector<Row> rows) const;
  void write(const std::vector<Row>& rows);

 private:
  // Whether the function is on the line already: each call of a recursion has its own.
  bool repeats(const Row& line, const Row& row) const {
    const auto& nodes = view_.tree.nodes;
    const std::uint32_t label = nodes[row.node].label;
    return nodes[line.node].label == label ||
           std::any_of(line.before.begin(), line.before.end(),
                       [&](std::uint32_t node) { return nodes[node].label == label; });
  }
  bool is_function(std::uint32_t node) const {
    const Frame& frame = view_.profile.frames[view_.labels.all[view_.tree.nodes[node].label].frame];
    return !frame.is_group() && frame.function != kWokenBy;
  }
  bool only_calls(std::uint32_t node, std::uint32_t child) const;
  std::string fitted(const std::string& prefix) const;
  std::string name_of(std::uint32_t node, std::size_t room) const;
  void write_functions(const Row& row);
  std::string cells_of(std::uint32_t node) const {
    return table_.cells(view_.tree.total, view_.tree.own, view_.tree.total, node);
  }

  const View& view_;
  Table table_;
  Text& out_;
};

// Whether lines of their own would differ in their names only, which must be of functions.
bool TreeText::only_calls(std::uint32_t node, std::uint32_t child) const {
  const LabelTree& tree = view_.tree;
  return is_function(node) && is_function(child) &&
         table_.share_words(tree.own[0][node]) == table_.share_words(0) &&
         table_.cells(tree.total, tree.total, tree.total, node) ==
             table_.cells(tree.total, tree.total, tree.total, child);
}

std::vector<Row> TreeText::joined(std::vector<Row> rows) const {
  std::vector<Row> fewer;
  for (Row& row : rows) {
    const bool may_join = row.kind == Row::Kind::function && row.is_only_child && !fewer.empty() &&
                          fewer.back().kind == Row::Kind::function;
    if (may_join && only_calls(fewer.back().node, row.node) && !repeats(fewer.back(), row)) {
      row.before = std::move(fewer.back().before);
      row.before.push_back(fewer.back().node);
      row.later_prefix = row.own_prefix;
      row.own_prefix = std::move(fewer.back().own_prefix);
      fewer.pop_back();
    }
    fewer.push_back(std::move(row));
  }
  return fewer;
}

// A prefix that would leave no room for the name loses its beginning.
std::string TreeText::fitted(const std::string& prefix) const {
  const std::size_t most = table_.room(table_.width_before_names()) / 2;
  return columns(prefix) <= most ? prefix : shortened(prefix, most);
}

std::string TreeText::name_of(std::uint32_t node, std::size_t room) const {
  const LabelTree::Node& at = view_.tree.nodes[node];
  const std::string mark = at.tail ? " (tail call)" : "";
  const std::size_t left = room > columns(mark) ? room - columns(mark) : 0;
  return table_.named(at.label, std::max(kNarrowestName, left)) + mark;
}

// Writes the functions that share the row in as many lines as they need.
void TreeText::write_functions(const Row& row) {
  std::vector<std::uint32_t> nodes = row.before;
  nodes.push_back(row.node);
  std::string prefix = fitted(row.own_prefix);
  for (std::size_t i = 0; i < nodes.size();) {
    const std::size_t room = table_.room(columns(cells_of(nodes[i]) + prefix));
    std::string names = name_of(nodes[i], room);
    std::uint32_t last = nodes[i++];
    for (; i < nodes.size(); ++i) {
      const std::string more = names + kThen + name_of(nodes[i], room);
      if (columns(more) > room) break;
      names = more;
      last = nodes[i];
    }
    out_.line("{}{}{}", cells_of(last), prefix, row.hot ? out_.colored(names, kBold) : names);
    prefix = fitted(row.later_prefix);
  }
}

void TreeText::write(const std::vector<Row>& rows) {
  table_.head("total", "own", "path");
  for (const Row& row : rows) {
    if (row.kind != Row::Kind::function) {
      out_.line("{}{}{}… {} more{}", table_.share_words(row.total),
                std::string(table_.width_before_names() - 8, ' '), fitted(row.own_prefix),
                row.count, row.kind == Row::Kind::rounds ? " calls of the same (recursion)" : "");
      continue;
    }
    write_functions(row);
  }
}

}  // namespace

void write_tree(const View& view, bool fold, Text& out) {
  TreeText text(view, out);
  std::vector<Row> rows = Rows(view, fold).list();
  text.write(fold ? text.joined(std::move(rows)) : rows);
}

}  // namespace causalctl::report::callpath
