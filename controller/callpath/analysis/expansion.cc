#include "controller/callpath/analysis/expansion.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "controller/base/base_name.h"
#include "controller/base/telling_names.h"
#include "controller/report/callpath/labels.h"

namespace causalctl::callpath {
namespace {

using report::callpath::Frame;

constexpr const char* kKernelMark = "[k] ";

std::string name_of_unknown(const std::string& path) {
  if (path.empty()) return "[unknown]";
  if (path.front() == '[') return path;
  return fmt::format("[{}]", base_name(path));
}

// Returns what the function of a location can be called, shortest first.
std::vector<std::string> names_at(const Recording& run, LocationId location) {
  Frame frame;
  const Location& at = run.locations[location];
  frame.function = at.frames.back().function;
  frame.module = run.modules[at.module].path;
  return report::callpath::names_of_function(frame, at.frames.back().home);
}

// Returns the shortest name that tells the function from those with which other threads began.
std::string telling_name_of_start(const Recording& run, LocationId start) {
  const std::string& function = run.locations[start].frames.back().function;
  std::set<std::vector<std::string>> namesakes;
  for (const Group& group : run.groups) {
    if (!group.start) continue;
    const std::vector<SourceFrame>& frames = run.locations[*group.start].frames;
    if (frames.empty() || frames.back().function != function) continue;
    namesakes.insert(names_at(run, *group.start));
  }
  if (namesakes.size() < 2) return function;
  TellingNames telling;
  for (const std::vector<std::string>& names : namesakes) telling.add(names);
  return telling.best_of(names_at(run, start));
}

}  // namespace

std::uint32_t Frames::of_group(const std::string& name, report::callpath::Stands stands) {
  Frame frame;
  frame.function = name;
  frame.stands = stands;
  return number_of(std::move(frame), 0, 0);
}

std::uint32_t Frames::of_words(const std::string& words) {
  Frame frame;
  frame.function = words;
  return number_of(std::move(frame), 0, 0);
}

std::vector<std::uint32_t> Frames::of_location(const Recording& run, const Location& location,
                                               bool tail) {
  const Module& module = run.modules[location.module];
  const std::uint32_t module_number = number_of_module(module);
  const std::string unknown = name_of_unknown(module.path);
  Frame frame;
  frame.module = module.path;
  frame.module_number = module_number;
  frame.tail = tail;
  frame.kernel = module.path == kKernel;
  frame.offset = location.offset - (location.is_call ? 1 : 0);
  if (location.frames.empty()) {
    frame.function = unknown;
    return {number_of(std::move(frame), module_number, 0)};
  }
  std::vector<std::uint32_t> numbers;
  for (std::size_t i = location.frames.size(); i-- > 0;) {
    const SourceFrame& source = location.frames[i];
    frame.function = source.function.empty() ? unknown : source.function;
    if (frame.kernel) frame.function.insert(0, kKernelMark);
    frame.file = source.file;
    frame.home = source.home;
    frame.line = std::max(source.line, 0);
    frame.inlined = !numbers.empty();
    numbers.push_back(
        number_of(frame, module_number, static_cast<std::uint32_t>(numbers.size()) + 1));
  }
  return numbers;
}

std::uint32_t Frames::number_of_module(const Module& module) {
  const auto [entry, is_new] = modules_.emplace(std::pair(module.path, module.build_id),
                                                static_cast<std::uint32_t>(modules_.size()));
  if (is_new) {
    profile_.modules.push_back(module.path);
    profile_.build_ids.push_back(module.build_id);
  }
  return entry->second;
}

std::uint32_t Frames::number_of(Frame frame, std::uint32_t module, std::uint32_t around) {
  const auto [entry, is_new] =
      frames_.emplace(Key(module, frame.offset, around, frame.tail, frame.function, frame.file,
                          frame.line, frame.stands),
                      static_cast<std::uint32_t>(profile_.frames.size()));
  if (is_new) profile_.frames.push_back(std::move(frame));
  return entry->second;
}

Expansion::Expansion(const Recording& run, Frames& frames, ProfileTree& tree)
    : run_(run), frames_(frames), tree_(tree), of_location_(run.locations.size()) {
  for (const Tail& tail : run.tails) {
    if (tail.kind == TailKind::found) tails_[pair_of(tail.call, tail.callee)] = &tail;
  }
}

std::uint32_t Expansion::node(NodeId id, std::uint32_t top) {
  if (id == kRoot) return tree_.child(top, frames_.of_words("[no call chain]"));
  std::unordered_map<NodeId, std::uint32_t>& known = nodes_[top];
  known[kRoot] = top;
  path_.clear();
  for (; !known.contains(id); id = run_.tree.node(id).parent) path_.push_back(id);
  std::uint32_t end = known[id];
  for (auto each = path_.rbegin(); each != path_.rend(); ++each) {
    const CallTree::Node& node = run_.tree.node(*each);
    if (node.parent != kRoot) end = with_tails(node, end);
    for (const std::uint32_t frame : frames_of(node.location)) end = tree_.child(end, frame);
    known[*each] = end;
  }
  return end;
}

std::uint32_t Expansion::above(const CallTree::Node& at, std::uint32_t top) {
  return at.parent == kRoot ? top : node(at.parent, top);
}

std::uint32_t Expansion::entry(NodeId id, std::uint32_t top) {
  if (id == kRoot) return node(id, top);
  const CallTree::Node& at = run_.tree.node(id);
  return tree_.child(above(at, top), frames_of(at.location).front());
}

std::uint32_t Expansion::entry_by_jumps(NodeId id, std::uint32_t top) {
  if (id == kRoot) return node(id, top);
  const CallTree::Node& at = run_.tree.node(id);
  std::uint32_t end = above(at, top);
  if (at.parent != kRoot) end = with_tails(at, end);
  return tree_.child(end, frames_of(at.location).front());
}

std::uint32_t Expansion::inverted(NodeId id, std::uint32_t top) {
  for (; id != kRoot; id = run_.tree.node(id).parent) {
    const std::vector<std::uint32_t>& frames = frames_of(run_.tree.node(id).location);
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      top = tree_.child(top, *frame);
    }
  }
  return top;
}

const std::vector<std::uint32_t>& Expansion::frames_of(LocationId location) {
  std::vector<std::uint32_t>& frames = of_location_[location];
  if (frames.empty()) frames = frames_.of_location(run_, run_.locations[location], false);
  return frames;
}

std::uint32_t Expansion::with_tails(const CallTree::Node& node, std::uint32_t end) {
  const auto found = tails_.find(pair_of(run_.tree.node(node.parent).location, node.location));
  if (found == tails_.end()) return end;
  for (const LocationId jump : found->second->jumps) {
    for (const std::uint32_t frame : frames_.of_location(run_, run_.locations[jump], true)) {
      end = tree_.child(end, frame);
    }
  }
  return end;
}

std::string name_of_group(const Recording& run, const Group& group) {
  if (!group.start) return group.name;
  const std::vector<SourceFrame>& frames = run.locations[*group.start].frames;
  const bool known = !frames.empty() && !frames.back().function.empty();
  return known ? telling_name_of_start(run, *group.start) : group.name;
}

std::vector<std::pair<NodeId, std::uint64_t>> sorted(const Slice& slice) {
  std::vector<std::pair<NodeId, std::uint64_t>> values(slice.begin(), slice.end());
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace causalctl::callpath
