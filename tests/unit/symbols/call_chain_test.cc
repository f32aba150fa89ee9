#include "controller/symbols/call_chain.h"

#include <catch2/catch.hpp>

namespace causalctl::symbols {
namespace {

TEST_CASE("a caller is looked up at its call, not at what follows it", "[symbols]") {
  const std::vector<Address> chain = {0x1000, 0x2000, 0x3000};
  CHECK(code_at(chain, 0) == 0x1000);
  CHECK(code_at(chain, 1) == 0x1fff);
  CHECK(code_at(chain, 2) == 0x2fff);
}

}  // namespace
}  // namespace causalctl::symbols
