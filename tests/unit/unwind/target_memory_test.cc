#include "unwind/modules/target_memory.h"

#include <array>
#include <catch2/catch.hpp>

namespace causalctl::unwind {

TEST_CASE("A copied stack is read only where it was copied", "[unwind]") {
  std::array<std::byte, 16> stack{};
  stack[8] = std::byte{42};
  StackView view(0x7000, stack);
  std::array<std::byte, 8> word{};
  REQUIRE(view.read(0x7008, word));
  CHECK(word[0] == std::byte{42});
  CHECK(view.read(0x7000, word));
  CHECK_FALSE(view.read(0x7009, word));
  CHECK_FALSE(view.read(0x6fff, word));
  CHECK_FALSE(view.read(0x7010, word));
  CHECK_FALSE(view.read(~Address{0}, word));
}

}  // namespace causalctl::unwind
