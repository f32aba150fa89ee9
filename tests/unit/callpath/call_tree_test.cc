#include "controller/callpath/record/call_tree.h"

#include <array>
#include <catch2/catch.hpp>

#include "controller/report/callpath/model.h"

namespace causalctl {

using callpath::kRoot;

TEST_CASE("a path is one node a location, and is found again", "[callpath]") {
  callpath::CallTree tree;
  const auto end = tree.path(std::array<callpath::LocationId, 3>{7, 8, 7});
  CHECK(tree.size() == 4);
  CHECK(tree.path(std::array<callpath::LocationId, 3>{7, 8, 7}) == end);
  CHECK(tree.size() == 4);
  CHECK(tree.node(end).location == 7);
  CHECK(tree.node(tree.node(end).parent).location == 8);
  CHECK(tree.path({}) == kRoot);
}

TEST_CASE("paths share what they have in common, and recursion is kept", "[callpath]") {
  callpath::CallTree tree;
  const auto first = tree.path(std::array<callpath::LocationId, 3>{1, 1, 2});
  const auto second = tree.path(std::array<callpath::LocationId, 3>{1, 1, 1});
  CHECK(tree.node(first).parent == tree.node(second).parent);
  CHECK(tree.node(tree.node(first).parent).parent != kRoot);
  CHECK(tree.child(kRoot, 0) != tree.child(kRoot, 1));
}

TEST_CASE("totals are sums over subtrees", "[callpath]") {
  report::callpath::Profile profile;
  profile.nodes = {{0, 0}, {0, 0}, {1, 1}, {1, 2}, {3, 3}};
  profile.own = {{0, 1, 10, 100, 1000}};
  CHECK(report::callpath::totals(profile, 0) ==
        std::vector<std::uint64_t>{1111, 1111, 10, 1100, 1000});
}

}  // namespace causalctl
