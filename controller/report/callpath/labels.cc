#include "controller/report/callpath/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "controller/base/fields.h"
#include "controller/base/printable.h"
#include "controller/base/telling_names.h"

namespace causalctl::report::callpath {
namespace {

// Gives each frame the label of its key, and returns the labels without names.
template <class Key>
Labels labelled(const Profile& profile, const Key& key_of) {
  Labels labels;
  std::map<decltype(key_of(0U)), std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < profile.frames.size(); ++i) {
    const auto [entry, is_new] =
        numbers.emplace(key_of(i), static_cast<std::uint32_t>(labels.all.size()));
    if (is_new) labels.all.push_back({"", i});
    labels.of_frame.push_back(entry->second);
  }
  return labels;
}

// Finds functions of one name that are several: those that are declared in different files though
// they are in one build of a module. What is known of other builds tells nothing, since their
// sources may have stood elsewhere.
class Homes {
 public:
  explicit Homes(const Profile& profile) : profile_(profile) {
    std::map<std::tuple<std::string_view, std::string_view, std::uint32_t>, std::string_view> first;
    for (const Frame& frame : profile.frames) {
      if (frame.home.empty()) continue;
      const auto [known, is_new] =
          first.emplace(std::tuple(frame.function, frame.module, frame.module_number), frame.home);
      if (!is_new && known->second != frame.home) several_.emplace(frame.function, frame.module);
    }
  }
  // Returns what belongs to the identity of the frame's function besides its name and module.
  std::string_view of(std::uint32_t frame) const {
    const Frame& at = profile_.frames[frame];
    return several_.contains({at.function, at.module}) ? at.home : std::string_view();
  }

 private:
  const Profile& profile_;
  std::set<std::pair<std::string_view, std::string_view>> several_;  // functions and modules
};

// Code without a name is called by the name of its module: "[libz.so]", "libz.so+0x120". Returns
// where that stands, or npos.
std::size_t place_of_module(const Frame& frame) {
  const std::string_view module = base_name(frame.module);
  const std::string_view name = frame.function;
  if (module.empty()) return std::string::npos;
  if (name.size() == module.size() + 2 && name.front() == '[' && name.back() == ']' &&
      name.substr(1, module.size()) == module) {
    return 1;
  }
  const bool is_place = name.starts_with(module) && name.substr(module.size()).starts_with("+0x");
  return is_place ? 0 : std::string::npos;
}

// Names the labels by what `names_of` says that each can be called.
template <class NamesOf>
void name_labels(Labels& labels, const NamesOf& names_of) {
  std::vector<std::vector<std::string>> names;
  TellingNames telling;
  for (const Labels::Label& label : labels.all) {
    names.push_back(names_of(label.frame));
    auto& each = names.back();
    each.erase(std::unique(each.begin(), each.end()), each.end());
    telling.add(each);
  }
  for (std::size_t i = 0; i < names.size(); ++i) labels.all[i].name = telling.best_of(names[i]);
}

// The shortest names of the profile's source files.
ShortPaths short_files(const Profile& profile) {
  std::set<std::string> files;
  for (const Frame& frame : profile.frames) {
    if (frame.line > 0) files.insert(frame.file);
  }
  return ShortPaths(files);
}

}  // namespace

std::vector<std::string> names_of_function(const Frame& frame, std::string_view home) {
  const std::string& name = frame.function;
  if (frame.stands == Stands::threads) return {"threads: " + name};
  if (frame.is_group()) return {name, fmt::format("{}: {}", name_of(frame.stands), name)};
  std::vector<std::string> names{name};
  const std::vector<std::string> modules = path_endings(frame.module);
  if (const auto at = place_of_module(frame); at != std::string::npos) {
    for (const std::string& module : modules) {
      names.push_back(name);
      names.back().replace(at, modules.front().size(), module);
    }
    names.erase(names.begin());
    return names;
  }
  const std::vector<std::string> files = path_endings(std::string(home));
  if (!modules.empty()) names.push_back(modules.front() + ":" + name);
  for (const std::string& file : files) names.push_back(file + ":" + name);
  for (std::size_t i = 1; i < modules.size(); ++i) names.push_back(modules[i] + ":" + name);
  if (!modules.empty() && !files.empty()) {
    names.push_back(fmt::format("{}:{}:{}", modules.front(), files.back(), name));
    names.push_back(fmt::format("{}:{}:{}", modules.back(), files.back(), name));
  }
  return names;
}

Labels by_function(const Profile& profile) {
  const Homes homes(profile);
  Labels labels = labelled(profile, [&](std::uint32_t frame) {
    const Frame& at = profile.frames[frame];
    return std::tuple<std::string_view, std::string_view, std::string_view, Stands>(
        at.function, at.module, homes.of(frame), at.stands);
  });
  name_labels(labels, [&](std::uint32_t frame) {
    return names_of_function(profile.frames[frame], homes.of(frame));
  });
  return labels;
}

Labels by_line(const Profile& profile, bool with_offsets) {
  const Homes homes(profile);
  const auto offset_of = [&](const Frame& frame) {
    return with_offsets && frame.line == 0 ? frame.offset : 0;
  };
  Labels labels = labelled(profile, [&](std::uint32_t frame) {
    const Frame& at = profile.frames[frame];
    return std::tuple<std::string_view, std::string_view, std::string_view, std::string_view, int,
                      Address, Stands>(at.function, at.module, homes.of(frame), at.file, at.line,
                                       offset_of(at), at.stands);
  });
  const ShortPaths files = short_files(profile);
  name_labels(labels, [&](std::uint32_t frame) {
    const Frame& at = profile.frames[frame];
    if (at.is_group()) return names_of_function(at, {});
    std::vector<std::string> names = names_of_function(at, homes.of(frame));
    for (std::string& name : names) {
      if (at.line > 0) {
        name = fmt::format("{}:{} {}", files.of(at.file), at.line, name);
      } else if (with_offsets) {
        name += fmt::format("+{:#x}", at.offset);
      }
    }
    return names;
  });
  return labels;
}

const std::string& file_of(const Labels::Label& label, const Profile& profile) {
  const Frame& frame = profile.frames[label.frame];
  return frame.home.empty() ? frame.file : frame.home;
}

ShortNames short_names(const Labels& labels, const LabelTree& tree) {
  constexpr double kLeast = 1e-4;  // less is shown nowhere, except as a caller of something
  std::vector<double> totals(labels.all.size());
  for (std::size_t node = 1; node < tree.nodes.size(); ++node) {
    for (const auto& column : tree.total) {
      if (column[0] == 0) continue;
      totals[tree.nodes[node].label] +=
          static_cast<double>(column[node]) / static_cast<double>(column[0]);
    }
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < totals.size(); ++i) {
    if (totals[i] >= kLeast) names.push_back(printable(labels.all[i].name));
  }
  return ShortNames(std::move(names));
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
