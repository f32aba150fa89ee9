#include "controller/report/callpath/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace causalctl::report::callpath {
namespace {

// Gives each frame the label of its key, and returns the labels without names.
template <class Key>
Labels labelled(const Profile& profile, const Key& key_of) {
  Labels labels;
  std::map<decltype(key_of(Frame())), std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < profile.frames.size(); ++i) {
    const auto [entry, is_new] =
        numbers.emplace(key_of(profile.frames[i]), static_cast<std::uint32_t>(labels.all.size()));
    if (is_new) labels.all.push_back({"", i});
    labels.of_frame.push_back(entry->second);
  }
  return labels;
}

// Names that several labels have are followed by what `add` returns.
template <class Add>
void tell_apart(Labels& labels, const Add& add) {
  std::map<std::string, int> count;
  for (const auto& label : labels.all) ++count[label.name];
  for (auto& label : labels.all) {
    if (count[label.name] > 1) label.name += fmt::format(" ({})", add(label.frame));
  }
}

}  // namespace

Labels by_function(const Profile& profile) {
  const auto module_of = [&](std::uint32_t frame) -> const std::string& {
    return profile.frames[frame].module;
  };
  Labels labels = labelled(profile, [](const Frame& frame) {
    return std::tuple(frame.function, frame.module, frame.is_group);
  });
  for (auto& label : labels.all) {
    const Frame& frame = profile.frames[label.frame];
    label.name = frame.is_group ? "threads: " + frame.function : frame.function;
  }
  tell_apart(labels, [&](std::uint32_t frame) { return base_name(module_of(frame)); });
  tell_apart(labels, module_of);
  return labels;
}

Labels by_line(const Profile& profile) {
  Labels labels = labelled(profile, [](const Frame& frame) {
    return std::tuple(frame.function, frame.module, frame.file, frame.line,
                      frame.line > 0 ? 0 : frame.offset);
  });
  for (auto& label : labels.all) {
    const Frame& frame = profile.frames[label.frame];
    if (frame.line > 0) {
      label.name = fmt::format("{}:{} {}", base_name(frame.file), frame.line, frame.function);
    } else {
      label.name =
          frame.is_group ? frame.function : fmt::format("{}+{:#x}", frame.function, frame.offset);
    }
  }
  tell_apart(labels, [&](std::uint32_t frame) { return profile.frames[frame].file; });
  tell_apart(labels, [&](std::uint32_t frame) { return profile.frames[frame].module; });
  return labels;
}

LabelTree merged(const Profile& profile, const Labels& labels) {
  LabelTree tree;
  tree.nodes.emplace_back();
  tree.own.assign(profile.columns.size(), {0});
  std::unordered_map<std::uint64_t, std::uint32_t> numbers;  // by parent and label
  numbers.reserve(profile.nodes.size());
  std::vector<std::uint32_t> of_node(profile.nodes.size());
  for (std::size_t node = 0; node < profile.nodes.size(); ++node) {
    if (node > 0) {
      const std::uint32_t parent = of_node[profile.nodes[node].parent];
      const std::uint32_t label = labels.of_frame[profile.nodes[node].frame];
      const auto fresh = static_cast<std::uint32_t>(tree.nodes.size());
      const auto [entry, is_new] = numbers.try_emplace(std::uint64_t{parent} << 32 | label, fresh);
      if (is_new) {
        tree.nodes.push_back({parent, label});
        for (auto& column : tree.own) column.push_back(0);
      }
      of_node[node] = entry->second;
      if (profile.frames[profile.nodes[node].frame].tail) tree.nodes[entry->second].tail = true;
    }
    for (std::size_t column = 0; column < tree.own.size(); ++column) {
      tree.own[column][of_node[node]] += profile.own[column][node];
    }
  }
  tree.total = tree.own;
  for (auto& column : tree.total) {
    for (std::size_t node = tree.nodes.size(); node-- > 1;) {
      column[tree.nodes[node].parent] += column[node];
    }
  }
  return tree;
}

Children::Children(const LabelTree& tree) {
  first_.assign(tree.nodes.size() + 1, 0);
  for (std::size_t node = 1; node < tree.nodes.size(); ++node)
    ++first_[tree.nodes[node].parent + 1];
  for (std::size_t node = 0; node < tree.nodes.size(); ++node) first_[node + 1] += first_[node];
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  list_.resize(tree.nodes.size());  // one more than there are, so that the end can be pointed at
  for (std::uint32_t node = 1; node < tree.nodes.size(); ++node) {
    list_[next[tree.nodes[node].parent]++] = node;
  }
  if (tree.total.empty()) return;
  for (std::size_t node = 0; node < tree.nodes.size(); ++node) {
    std::stable_sort(
        list_.begin() + static_cast<std::ptrdiff_t>(first_[node]),
        list_.begin() + static_cast<std::ptrdiff_t>(first_[node + 1]),
        [&](std::uint32_t a, std::uint32_t b) { return tree.total[0][a] > tree.total[0][b]; });
  }
}

LabelValues values_of(const LabelTree& tree, const Children& children, const Labels& labels) {
  LabelValues values;
  values.own.assign(tree.own.size(), std::vector<std::uint64_t>(labels.all.size()));
  values.total = values.own;
  std::vector<bool> is_open(labels.all.size());  // whether it is on the path to this node
  std::vector<bool> opened(tree.nodes.size());   // whether this node has opened its label
  // A walk in depth-first order; a node is met a second time when all below it is done.
  std::vector<std::uint32_t> todo(children.begin(0), children.end(0));
  while (!todo.empty()) {
    const std::uint32_t node = todo.back();
    const std::uint32_t label = tree.nodes[node].label;
    if (opened[node]) {
      is_open[label] = false;
      todo.pop_back();
      continue;
    }
    const bool outermost = !is_open[label];
    for (std::size_t column = 0; column < tree.own.size(); ++column) {
      values.own[column][label] += tree.own[column][node];
      if (outermost) values.total[column][label] += tree.total[column][node];
    }
    if (outermost) {
      is_open[label] = opened[node] = true;
    } else {
      todo.pop_back();
    }
    todo.insert(todo.end(), children.begin(node), children.end(node));
  }
  return values;
}

}  // namespace causalctl::report::callpath
