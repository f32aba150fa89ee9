#include "controller/callpath/record/shortened_paths.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "controller/callpath/analysis/present.h"
#include "controller/callpath/record/calls_seen.h"

namespace causalctl::callpath {
namespace {

constexpr std::size_t kPlaces = 8;
constexpr std::size_t kPaths = 200;
constexpr std::size_t kFrames = 1024;
constexpr std::size_t kMost = 10'000;

Recording recording_of_places() {
  Recording recording;
  recording.epochs.push_back({0, "start"});
  recording.groups.push_back({"all"});
  recording.modules.push_back({"/bin/deep", ""});
  for (std::size_t i = 0; i < kPlaces; ++i) recording.locations.push_back({0, 16 * i, true, {}});
  return recording;
}

std::vector<LocationId> random_path(std::mt19937& random, std::size_t frames) {
  std::vector<LocationId> path(frames);
  for (LocationId& each : path) each = static_cast<LocationId>(random() % kPlaces);
  return path;
}

// Recursion that never takes the same way twice, and a shallow path.
Recording deep_recording(std::vector<std::vector<LocationId>>& paths) {
  Recording recording = recording_of_places();
  std::mt19937 random(7);
  for (std::size_t i = 0; i <= kPaths; ++i) {
    paths.push_back(random_path(random, i == kPaths ? kShallowFrames : kFrames));
    const NodeId end = recording.tree.path(paths.back());
    for (const Metric metric : {Metric::samples, Metric::cpu_ns}) {
      recording.add({0, 0, metric}, end, 1 + i);
    }
    count_calls(std::vector<bool>(20, true), end, 0, 0, recording);
  }
  return recording;
}

std::vector<LocationId> path_of(const CallTree& tree, NodeId node) {
  std::vector<LocationId> path;
  for (; node != kRoot; node = tree.node(node).parent) path.push_back(tree.node(node).location);
  return {path.rbegin(), path.rend()};
}

std::size_t deep_nodes(const CallTree& tree) {
  std::size_t deep = 0;
  for (NodeId id = 1; id < tree.size(); ++id) {
    if (path_of(tree, id).size() > kShallowFrames) ++deep;
  }
  return deep;
}

}  // namespace

TEST_CASE("deep paths beyond the bound of nodes keep both of their ends", "[callpath]") {
  std::vector<std::vector<LocationId>> paths;
  Recording recording = deep_recording(paths);
  REQUIRE(recording.tree.size() > kPaths * kFrames * 9 / 10);
  const auto longest = shorten_paths(recording, kMost);
  REQUIRE(longest == kShallowFrames);
  CHECK(deep_nodes(recording.tree) <= kMost);
  CHECK(recording.tree.size() < kPaths * (kShallowFrames + 2) + kShallowFrames);
  REQUIRE(recording.warnings.size() == 1);
  CHECK(recording.warnings[0].find("more than 64 frames") != std::string::npos);
  CHECK(recording.warnings[0].find(kFramesLeftOut) != std::string::npos);

  std::map<std::uint64_t, NodeId> ends;
  for (const auto& [node, value] : recording.slices[{0, 0, Metric::samples}]) ends[value] = node;
  REQUIRE(ends.size() == paths.size());
  for (const auto& [value, node] : ends) {
    const std::vector<LocationId>& whole = paths[value - 1];
    const std::vector<LocationId> shown = path_of(recording.tree, node);
    if (whole.size() <= kShallowFrames) {
      CHECK(shown == whole);
      continue;
    }
    REQUIRE(shown.size() == kShallowFrames + 1);
    CHECK(std::equal(shown.begin(), shown.begin() + 16, whole.begin()));
    CHECK(std::equal(shown.begin() + 17, shown.end(), whole.end() - 48));
    const Location& left_out = recording.locations.at(shown[16]);
    CHECK(recording.modules.at(left_out.module).path == kFramesLeftOut);
  }

  REQUIRE(sum_calls(recording));
  const Slice& most = recording.slices[{0, 0, Metric::new_max}];
  const Slice& least = recording.slices[{0, 0, Metric::new_min}];
  for (const auto& [node, calls] : least) CHECK(calls <= most.at(node));
  CHECK(least.at(ends.at(kPaths + 1)) == 1);  // of the whole path nothing is lost
  const auto profile = present({&recording, 1});
  CHECK(profile.nodes.size() == recording.tree.size());
}

TEST_CASE("the paths are as long as the bound of nodes permits", "[callpath]") {
  for (const std::size_t longest : {512U, 256U, 128U}) {
    std::vector<std::vector<LocationId>> paths;
    Recording recording = deep_recording(paths);
    const std::size_t most = kPaths * (longest + 1 - kShallowFrames);
    CHECK(shorten_paths(recording, most) == longest);
    CHECK(deep_nodes(recording.tree) <= most);
  }
}

TEST_CASE("what has few deep nodes stays as it is", "[callpath]") {
  std::mt19937 random(9);
  Recording recording = recording_of_places();
  for (std::size_t i = 0; i < kPaths; ++i) {
    recording.add({0, 0, Metric::samples}, recording.tree.path(random_path(random, kShallowFrames)),
                  1);
  }
  recording.add({0, 0, Metric::samples}, recording.tree.path(random_path(random, kFrames)), 1);
  const auto slices = recording.slices;
  const std::size_t nodes = recording.tree.size();
  CHECK_FALSE(shorten_paths(recording, kFrames - kShallowFrames));
  CHECK(recording.tree.size() == nodes);
  CHECK(recording.slices == slices);
  CHECK(recording.warnings.empty());
}

}  // namespace causalctl::callpath
