#include "unwind/names/names.h"

#include <catch2/catch.hpp>
#include <random>

#include "controller/base/edit_distance.h"

namespace causalctl::unwind {
namespace {

// The textbook table, with which the banded one is compared.
std::size_t plain_edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
      } else {
        cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1,
                               cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

TEST_CASE("Suffixes of compiler-made copies are told from names", "[unwind]") {
  CHECK(split_clone("foo.constprop.0").base == "foo");
  CHECK(split_clone("foo.constprop.0").suffix == ".constprop.0");
  CHECK(split_clone("foo.isra.0.cold").base == "foo");
  CHECK(split_clone("main.run").base == "main.run");
  CHECK(split_clone("main.run").suffix.empty());
  CHECK(split_clone(".cold").base == ".cold");
  CHECK(split_clone("").base.empty());
}

TEST_CASE("The banded edit distance is the edit distance, up to its limit", "[unwind]") {
  CHECK(edit_distance("kitten", "sitting", 5) == 3);
  CHECK(edit_distance("", "abc", 5) == 3);
  CHECK(edit_distance("abc", "abc", 0) == 0);
  CHECK(edit_distance("abc", "abd", 0) == 1);
  std::minstd_rand random(7);
  const auto word = [&] {
    std::string text(random() % 12, 'a');
    for (char& each : text) each = static_cast<char>('a' + random() % 3);
    return text;
  };
  for (int i = 0; i < 3000; ++i) {
    const std::string a = word();
    const std::string b = word();
    const std::size_t limit = random() % 6;
    INFO(a << " " << b << " " << limit);
    REQUIRE(edit_distance(a, b, limit) == std::min(plain_edit_distance(a, b), limit + 1));
  }
}

TEST_CASE("Nearest names come first, each once, none from afar", "[unwind]") {
  const std::vector<std::string> names = {"process_get", "process_command", "process_command",
                                          "proces_command", "zebra"};
  const auto found = nearest("process_comand", names, 5);
  REQUIRE(found.size() == 2);
  CHECK(found[0] == "process_command");
  CHECK(nearest("process_comand", names, 1).size() == 1);
  CHECK(nearest("command", names, 5).size() == 2);  // one contains the other
  CHECK(nearest("xylophone", names, 5).empty());
}

}  // namespace causalctl::unwind
