#include "controller/compare/fisher.h"

#include <catch2/catch.hpp>

namespace causalctl::compare {

TEST_CASE("Fisher's exact test", "[compare]") {
  CHECK(fisher_exact({3, 4}, {1, 4}) == Approx(0.4857143));  // the lady tasting tea, two-sided
  CHECK(fisher_exact({8, 10}, {1, 6}) == Approx(0.03496503));
  CHECK(fisher_exact({0, 40}, {8, 40}) == Approx(0.005307).epsilon(0.001));
  CHECK(fisher_exact({8, 40}, {0, 40}) == fisher_exact({0, 40}, {8, 40}));
  CHECK(fisher_exact({2, 30}, {2, 30}) == Approx(1));
  CHECK(fisher_exact({0, 0}, {3, 5}) == 1);
  CHECK(fisher_exact({5, 5}, {5, 5}) == Approx(1));
}

}  // namespace causalctl::compare
