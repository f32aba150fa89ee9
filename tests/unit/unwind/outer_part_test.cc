// Tests what is kept of deep stacks, on memory of this process.
#include "unwind/stack/outer_part.h"

#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>

namespace causalctl::unwind {
namespace {

struct Deep {
  std::array<Address, 400> words{};
  OuterParts parts{getpid()};

  Address at(std::size_t index) const { return reinterpret_cast<Address>(&words[index]); }
  FramePosition position(std::size_t frame) const { return {1000 + frame, at(2 * frame), 5, true}; }
  std::vector<OuterFrame> frames(std::size_t first) const {
    std::vector<OuterFrame> all;
    for (std::size_t i = first; i < 150; ++i) {
      all.push_back({position(i), {1000 + i, at(2 * i + 2), FrameHow::table}});
    }
    return all;
  }
};

}  // namespace

TEST_CASE("a walk goes on as one before it while the stack is the same", "[unwind]") {
  Deep deep;
  CHECK(deep.parts.find(deep.position(20)).empty());
  deep.parts.keep(deep.frames(10));
  CHECK(deep.parts.find(deep.position(9)).empty());
  const auto found = deep.parts.find(deep.position(20));
  REQUIRE(found.size() == 130);
  CHECK(found.front().at == deep.position(20));
  CHECK(found.back().frame.ip == 1149);
  FramePosition other = deep.position(20);
  ++other.ip;
  CHECK(deep.parts.find(other).empty());
  deep.words[30] = 1;  // further in
  CHECK(deep.parts.find(deep.position(20)).size() == 130);
  deep.words[41] = 1;
  CHECK(deep.parts.find(deep.position(20)).empty());
  CHECK(deep.parts.find(deep.position(30)).size() == 120);
  // What is found anew takes the place of what was kept of the stack.
  deep.parts.keep(deep.frames(15));
  CHECK(deep.parts.find(deep.position(20)).size() == 130);
  deep.parts.clear();
  CHECK(deep.parts.find(deep.position(20)).empty());
}

TEST_CASE("a few frames are not worth keeping, and stacks rise", "[unwind]") {
  Deep deep;
  std::vector<OuterFrame> frames = deep.frames(10);
  std::swap(frames[3], frames[70]);
  deep.parts.keep(frames);
  CHECK(deep.parts.find(deep.position(20)).empty());
  deep.parts.keep(deep.frames(140));
  CHECK(deep.parts.find(deep.position(145)).empty());
}

}  // namespace causalctl::unwind
