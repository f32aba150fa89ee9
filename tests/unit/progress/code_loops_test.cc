#include "controller/progress/code_loops.h"

#include <catch2/catch.hpp>

namespace causalctl::progress {

using causalctl::Address;

namespace {

constexpr Address kFirst = 0x100;
constexpr Address kNowhere = static_cast<Address>(-1);

// An instruction of one byte; both numbers are indices.
CodeStep step(Address address, Address to = kNowhere, bool continues = true,
              const std::string& mnemonic = "add") {
  CodeStep step;
  step.address = kFirst + address;
  step.next = step.address + 1;
  step.to = to == kNowhere ? 0 : kFirst + to;
  step.continues = continues;
  step.mnemonic = mnemonic;
  return step;
}

using Indices = std::vector<std::size_t>;

}  // namespace

TEST_CASE("a loop that is entered in its middle has its head there", "[progress]") {
  const std::vector<CodeStep> steps = {
      step(0), step(1, 3, false, "jmp"), step(2),
      step(3), step(4, 2, true, "jne"),  step(5, kNowhere, false, "ret")};
  const auto loops = loops_of(steps);
  REQUIRE(loops.size() == 1);
  CHECK(loops[0].head == 3);
  CHECK(loops[0].steps == Indices{2, 3, 4});
  CHECK(loops[0].entered_from == Indices{1});
  CHECK(reached_from(steps, {0}) == std::vector<bool>(6, true));
  CHECK(reached_from(steps, {5}) == std::vector<bool>{false, false, false, false, false, true});
}

TEST_CASE("inner loops, and code behind a jump table, are in loops", "[progress]") {
  const auto nested = loops_of({step(0), step(1), step(2, 1, true, "jne"), step(3, 0, true, "jne"),
                                step(4, kNowhere, false, "ret")});
  REQUIRE(nested.size() == 2);
  CHECK(nested[0].steps == Indices{0, 1, 2, 3});
  CHECK(nested[1].steps == Indices{1, 2});
  const auto table = loops_of({step(0), step(1, kNowhere, false, "jmp"), step(2, 0, false, "jmp"),
                               step(3), step(4), step(5, kNowhere, false, "ret")});
  REQUIRE_FALSE(table.empty());
  CHECK(table[0].head == 0);
}

TEST_CASE("a jump back to code that is also entered elsewhere closes no loop", "[progress]") {
  CHECK(loops_of({step(0, 3, true, "jne"), step(1), step(2), step(3), step(4, 2, true, "jne"),
                  step(5, kNowhere, false, "ret")})
            .empty());
  CHECK(loops_of({}).empty());
}

}  // namespace causalctl::progress
