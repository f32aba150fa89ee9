// Hatchet's literal format (GraphFrame.from_literal): a list of trees of functions, each node with
// its frame, its metrics without and with ("(inc)") its children, and its children.
#include <fmt/format.h>

#include <iterator>
#include <string>
#include <vector>

#include "controller/report/callpath/json_text.h"
#include "controller/report/callpath/labels.h"
#include "controller/report/callpath/render.h"

namespace causalctl::report::callpath {
namespace {

// The texts that nodes share.
struct NodeTexts {
  std::vector<std::string> frames;  // by label
  std::vector<std::string> own;     // names of metrics, by column
  std::vector<std::string> total;
};

NodeTexts node_texts(const Profile& profile, const Labels& labels) {
  NodeTexts texts;
  for (const Labels::Label& label : labels.all) {
    texts.frames.push_back(fmt::format(
        "{{\"frame\":{{\"name\":{},\"type\":\"function\",\"module\":{}}},\"metrics\":{{",
        quoted(label.name), quoted(profile.frames[label.frame].module)));
  }
  for (const Column& column : profile.columns) {
    texts.own.push_back(quoted(column.name));
    texts.total.push_back(quoted(column.name + " (inc)"));
  }
  return texts;
}

// Begins the object of a node, up to its children.
void begin_node(const NodeTexts& texts, const LabelTree& tree, std::uint32_t node,
                std::string& text) {
  text += texts.frames[tree.nodes[node].label];
  for (std::size_t column = 0; column < texts.own.size(); ++column) {
    fmt::format_to(std::back_inserter(text), "{}{}:{},{}:{}", column == 0 ? "" : ",",
                   texts.own[column], tree.own[column][node], texts.total[column],
                   tree.total[column][node]);
  }
  text += "},\"children\":[";
}

}  // namespace

std::string render_hatchet(const Profile& profile) {
  const Labels labels = by_function(profile);
  const LabelTree tree = merged(profile, labels);
  const Children children(tree);
  const NodeTexts texts = node_texts(profile, labels);
  std::string text = "[";
  // Of each node that is begun, the children that are not written yet. (Recursion could exhaust the
  // stack.)
  struct Open {
    const std::uint32_t* next;
    const std::uint32_t* end;
  };
  std::vector<Open> open{{children.begin(0), children.end(0)}};
  while (!open.empty()) {
    Open& top = open.back();
    if (top.next == top.end) {
      open.pop_back();
      text += open.empty() ? "]\n" : "]}";
      continue;
    }
    if (text.back() == '}') text += ",\n";
    const std::uint32_t node = *top.next++;
    begin_node(texts, tree, node, text);
    open.push_back({children.begin(node), children.end(node)});
  }
  return text;
}

}  // namespace causalctl::report::callpath
