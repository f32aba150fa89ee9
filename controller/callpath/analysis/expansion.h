// From the nodes of recordings to those of a profile: inlined functions become frames of their own,
// and functions that tail calls have left out are put back. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "controller/callpath/analysis/profile_tree.h"
#include "controller/callpath/record/recording.h"
#include "controller/report/callpath/model.h"

namespace causalctl::callpath {

// Numbers frames and modules, each once for all runs.
class Frames {
 public:
  // Adds frames and modules to `profile`, which is borrowed.
  explicit Frames(report::callpath::Profile& profile) : profile_(profile) {}

  // `stands`: for anything but code.
  std::uint32_t of_group(const std::string& name, report::callpath::Stands stands);
  std::uint32_t of_words(const std::string& words);  // "[woken by]"
  // Returns the frames of a location, outermost first. `tail`: they are not on the stack.
  std::vector<std::uint32_t> of_location(const Recording& run, const Location& location, bool tail);

 private:
  // Module, offset, how many functions are around it, tail, function, file, line, what it stands
  // for. What other runs know of a place may differ.
  using Key = std::tuple<std::uint32_t, Address, std::uint32_t, bool, std::string, std::string, int,
                         report::callpath::Stands>;

  std::uint32_t number_of_module(const Module& module);
  std::uint32_t number_of(report::callpath::Frame frame, std::uint32_t module,
                          std::uint32_t around);

  report::callpath::Profile& profile_;
  std::map<std::pair<std::string, std::string>, std::uint32_t> modules_;
  std::map<Key, std::uint32_t> frames_;
};

// Adds the nodes of one run, for one group of threads at a time. All that it is given is borrowed.
class Expansion {
 public:
  Expansion(const Recording& run, Frames& frames, ProfileTree& tree);

  // Returns the profile's node for a node of the recording, below `top`. What has no call chain has
  // a node that says so.
  std::uint32_t node(NodeId id, std::uint32_t top);
  // The same without the functions that were inlined there.
  std::uint32_t entry(NodeId id, std::uint32_t top);
  // The same, but with the functions that tail calls have left out before it.
  std::uint32_t entry_by_jumps(NodeId id, std::uint32_t top);
  // Returns the node of the same path from its end to its beginning, below `top`.
  std::uint32_t inverted(NodeId id, std::uint32_t top);

 private:
  const std::vector<std::uint32_t>& frames_of(LocationId location);
  std::uint32_t above(const CallTree::Node& at, std::uint32_t top);  // the node of its caller
  // Returns the end of the path with the functions that are missing above the node.
  std::uint32_t with_tails(const CallTree::Node& node, std::uint32_t end);

  const Recording& run_;
  Frames& frames_;
  ProfileTree& tree_;
  std::vector<std::vector<std::uint32_t>> of_location_;
  std::unordered_map<std::uint64_t, const Tail*> tails_;  // by the pair of locations
  // By `top` and the recording's node.
  std::map<std::uint32_t, std::unordered_map<NodeId, std::uint32_t>> nodes_;
  std::vector<NodeId> path_;
};

// A group of threads with one start is called after the function, once its name is known.
std::string name_of_group(const Recording& run, const Group& group);

// The nodes of a slice in order, so that equal recordings give equal profiles.
std::vector<std::pair<NodeId, std::uint64_t>> sorted(const Slice& slice);

}  // namespace causalctl::callpath
