#include "controller/callpath/record/shortened_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace causalctl::callpath {
namespace {

constexpr std::size_t kLengths[] = {512, 256, 128, kShallowFrames};  // frames that a path may keep
constexpr NodeId kNone = std::numeric_limits<NodeId>::max();

using Depths = std::vector<std::uint32_t>;  // frames on the path to each node

Depths depths_of(const CallTree& tree) {
  Depths depths(tree.size());
  for (NodeId id = 1; id < depths.size(); ++id) depths[id] = depths[tree.node(id).parent] + 1;
  return depths;
}

// A tree in which no path has more than `longest` frames.
class Shortened {
 public:
  Shortened(const CallTree& all, const Depths& depths, std::size_t longest, LocationId left_out)
      : all_(all),
        depths_(depths),
        longest_(longest),
        left_out_(left_out),
        whole_(all.size(), kNone),
        ends_(all.size(), kNone) {
    whole_[kRoot] = kRoot;
  }

  // Adds the path to a node that has values.
  void add(NodeId end);
  // Returns the node for one that was added.
  NodeId of(NodeId end) const { return ends_[end]; }
  // Returns the node for one on a path that was added, if all is kept of the way to it; otherwise
  // kNone.
  NodeId whole(NodeId node) const { return whole_[node]; }
  std::size_t deep() const { return deep_; }  // nodes deeper than kShallowFrames
  std::size_t longest() const { return longest_; }
  CallTree take() { return std::move(tree_); }

 private:
  NodeId child(NodeId parent, LocationId location, std::size_t depth);
  NodeId add_whole(NodeId node);

  const CallTree& all_;
  const Depths& depths_;
  std::size_t longest_;
  LocationId left_out_;
  CallTree tree_;
  std::size_t deep_ = 0;
  std::vector<NodeId> whole_;  // by node of all_, as ends_
  std::vector<NodeId> ends_;
  std::vector<NodeId> path_;
  std::vector<LocationId> inner_;
};

NodeId Shortened::child(NodeId parent, LocationId location, std::size_t depth) {
  const std::size_t before = tree_.size();
  const NodeId id = tree_.child(parent, location);
  if (tree_.size() > before && depth > kShallowFrames) ++deep_;
  return id;
}

NodeId Shortened::add_whole(NodeId node) {
  path_.clear();
  for (; whole_[node] == kNone; node = all_.node(node).parent) path_.push_back(node);
  NodeId end = whole_[node];
  for (auto each = path_.rbegin(); each != path_.rend(); ++each) {
    whole_[*each] = end = child(end, all_.node(*each).location, depths_[*each]);
  }
  return end;
}

void Shortened::add(NodeId end) {
  if (ends_[end] != kNone) return;
  if (depths_[end] <= longest_) {
    ends_[end] = add_whole(end);
    return;
  }
  const std::size_t outer = longest_ / 4;
  inner_.clear();
  NodeId node = end;
  for (; inner_.size() < longest_ - outer; node = all_.node(node).parent) {
    inner_.push_back(all_.node(node).location);
  }
  while (depths_[node] > outer) node = all_.node(node).parent;
  std::size_t depth = outer + 1;
  NodeId at = child(add_whole(node), left_out_, depth);
  for (auto each = inner_.rbegin(); each != inner_.rend(); ++each) at = child(at, *each, ++depth);
  ends_[end] = at;
}

// Values of these belong to nodes on the way to the ends of paths as well.
bool is_of_calls(Metric metric) {
  return metric == Metric::new_min || metric == Metric::new_max || metric == Metric::new_to ||
         metric == Metric::new_below;
}

// Returns for each node whether it has values that stand at the end of a path.
std::vector<bool> ends_of(const Recording& recording) {
  std::vector<bool> ends(recording.tree.size());
  const auto mark = [&](const std::map<SliceKey, Slice>& slices) {
    for (const auto& [key, slice] : slices) {
      if (is_of_calls(key.metric)) continue;
      for (const auto& [node, value] : slice) ends[node] = true;
    }
  };
  mark(recording.slices);
  for (const Part& part : recording.parts) mark(part.slices);
  for (const auto& [group, sums] : recording.wakers) {
    for (const auto& [pair, value] : sums) ends[pair.first] = ends[pair.second] = true;
  }
  return ends;
}

LocationId add_left_out(Recording& recording) {
  recording.modules.push_back({kFramesLeftOut, ""});
  Location& location = recording.locations.emplace_back();
  location.module = static_cast<std::uint32_t>(recording.modules.size() - 1);
  return static_cast<LocationId>(recording.locations.size() - 1);
}

// Returns the tree with the longest paths that fits.
std::unique_ptr<Shortened> fitting(const Recording& recording, const Depths& depths,
                                   LocationId left_out, std::size_t most) {
  const std::vector<bool> ends = ends_of(recording);
  std::unique_ptr<Shortened> tree;
  for (const std::size_t longest : kLengths) {
    tree.reset();  // before the next one takes its memory
    tree = std::make_unique<Shortened>(recording.tree, depths, longest, left_out);
    const bool is_last = longest == kShallowFrames;
    for (NodeId id = 0; id < ends.size() && (is_last || tree->deep() <= most); ++id) {
      if (ends[id]) tree->add(id);
    }
    if (is_last || tree->deep() <= most) break;
  }
  return tree;
}

void move_values(std::map<SliceKey, Slice>& slices, const Shortened& tree) {
  for (auto& [key, slice] : slices) {
    Slice moved;
    for (const auto& [node, value] : slice) {
      const NodeId to = is_of_calls(key.metric) ? tree.whole(node) : tree.of(node);
      if (to != kNone) moved[to] += value;
    }
    slice = std::move(moved);
  }
}

// Returns the share of the CPU time on paths that are longer; 0 if there is none.
double share_of_longer(const Recording& recording, const Depths& depths, std::size_t longest) {
  double all = 0, longer = 0;
  for (const auto& [key, slice] : recording.slices) {
    if (key.metric != Metric::cpu_ns) continue;
    for (const auto& [node, value] : slice) {
      all += static_cast<double>(value);
      if (depths[node] > longest) longer += static_cast<double>(value);
    }
  }
  return all > 0 ? longer / all : 0;
}

}  // namespace

std::optional<std::size_t> shorten_paths(Recording& recording, std::size_t most) {
  const Depths depths = depths_of(recording.tree);
  const auto deep = std::count_if(depths.begin(), depths.end(),
                                  [](std::uint32_t depth) { return depth > kShallowFrames; });
  if (static_cast<std::size_t>(deep) <= most) return std::nullopt;
  const std::unique_ptr<Shortened> tree = fitting(recording, depths, add_left_out(recording), most);
  const std::size_t longest = tree->longest();
  recording.warnings.push_back(fmt::format(
      "there are very many deep paths, as of irregular recursion: those of more than {} frames are "
      "shown without frames in their middle, at {} ({:.1f} % of the CPU time)",
      longest, kFramesLeftOut, 100 * share_of_longer(recording, depths, longest)));
  move_values(recording.slices, *tree);
  for (Part& part : recording.parts) move_values(part.slices, *tree);
  for (auto& [group, sums] : recording.wakers) {
    std::remove_reference_t<decltype(sums)> moved;
    for (const auto& [pair, value] : sums) {
      moved[{tree->of(pair.first), tree->of(pair.second)}] += value;
    }
    sums = std::move(moved);
  }
  recording.tree = tree->take();
  return longest;
}

}  // namespace causalctl::callpath
