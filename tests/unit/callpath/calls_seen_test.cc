#include "controller/callpath/record/calls_seen.h"

#include <catch2/catch.hpp>
#include <random>

namespace causalctl::callpath {

TEST_CASE("bounds of calls are those that are counted at each node of a path", "[callpath]") {
  std::mt19937 random(5);
  for (int round = 0; round < 100; ++round) {
    Recording recording;
    for (int i = 0; i < 30; ++i) {
      const auto parent = static_cast<NodeId>(random() % recording.tree.size());
      recording.tree.child(parent, static_cast<LocationId>(i));
    }
    std::map<SliceKey, Slice> expected;
    for (int i = 0; i < 200; ++i) {
      const auto end = static_cast<NodeId>(1 + random() % (recording.tree.size() - 1));
      const auto group = static_cast<std::uint32_t>(random() % 2);
      std::vector<bool> is_new;
      for (NodeId node = end; node != kRoot; node = recording.tree.node(node).parent) {
        is_new.push_back(random() % 3 == 0);
        ++expected[{0, group, Metric::new_max}][node];
        if (is_new.back()) ++expected[{0, group, Metric::new_min}][node];
      }
      count_calls(is_new, end, 0, group, recording);
    }
    REQUIRE(sum_calls(recording));
    CHECK(recording.slices == expected);
  }
}

TEST_CASE("values of other metrics stay, and sums are limited", "[callpath]") {
  Recording recording;
  const NodeId node = recording.tree.child(kRoot, 1);
  recording.add({0, 0, Metric::samples}, node, 3);
  recording.add({0, 0, Metric::new_max}, node, 4);  // of a log that has no others
  CHECK(sum_calls(recording));
  CHECK(recording.slices.size() == 2);
  count_calls({true}, node, 0, 0, recording);
  count_calls({true}, node, 0, 0, recording);
  std::uint64_t left = 1;
  CHECK_FALSE(sum_calls(recording, left));
}

}  // namespace causalctl::callpath
