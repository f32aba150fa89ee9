// Tests what is read beyond the copy of a stack, on memory of this process.
#include "unwind/stack/sampled_stack.h"

#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>

namespace causalctl::unwind {
namespace {

struct Words {
  std::array<Address, 64> live{};
  std::array<Address, 64> then{};  // when the sample was taken
  SampledStack stack{getpid()};

  Words() {
    for (std::size_t i = 0; i < live.size(); ++i) live[i] = then[i] = 1000 + i;
  }
  Address at(std::size_t index) const { return reinterpret_cast<Address>(&live[index]); }
  void start(std::size_t copied) {
    // A copy of the first words, as they were.
    stack.start(at(0), std::as_bytes(std::span(then).first(copied)));
  }
};

}  // namespace

TEST_CASE("words are those of the copy, and beyond it those of the target", "[unwind]") {
  Words words;
  words.live[3] = 7;
  words.start(8);
  CHECK(words.stack.word(words.at(3)) == 1003);
  CHECK(words.stack.word(words.at(7)) == 1007);
  CHECK_FALSE(words.stack.read_live());
  CHECK(words.stack.word(words.at(8)) == 1008);
  CHECK(words.stack.read_live());
  CHECK(words.stack.word(words.at(63)) == 1063);
  CHECK_FALSE(words.stack.failed_live());
  CHECK_FALSE(words.stack.word(8));
  CHECK(words.stack.failed_live());
}

TEST_CASE("nothing is read from a target that has left the calls of the copy", "[unwind]") {
  Words words;
  words.start(8);
  words.stack.has_return_address(words.at(5), 1005);
  CHECK(words.stack.word(words.at(20)) == 1020);

  words.start(8);
  words.stack.has_return_address(words.at(5), 1005);
  words.live[5] = 7;
  CHECK_FALSE(words.stack.word(words.at(20)));
  CHECK(words.stack.failed_live());

  SECTION("only what the copy had tells that") {
    words.start(8);
    words.stack.has_return_address(words.at(9), 1);
    CHECK(words.stack.word(words.at(20)) == 1020);
  }
}

TEST_CASE("the copy is forgotten at the next sample", "[unwind]") {
  Words words;
  words.start(8);
  CHECK(words.stack.word(words.at(20)) == 1020);
  words.live[20] = 7;
  words.start(0);
  CHECK(words.stack.word(words.at(20)) == 7);
}

}  // namespace causalctl::unwind
