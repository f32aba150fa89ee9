#include "controller/callpath/engine/copy_size.h"

#include <catch2/catch.hpp>

namespace causalctl::callpath {
namespace {

using unwind::ChainEnd;

void take(CopySize& size, ChainEnd end, int count) {
  unwind::Chain chain;
  chain.end = end;
  for (int i = 0; i < count; ++i) size.take(chain, CopySize::kUsual);
}

}  // namespace

TEST_CASE("more is copied of deep stacks, until records are lost by it", "[callpath]") {
  CopySize size(true);
  take(size, ChainEnd::copy_short, 499);
  CHECK_FALSE(size.choose(0, true));  // too few to tell
  take(size, ChainEnd::copy_short, 1);
  CHECK_FALSE(size.choose(0, false));  // no room in the rings
  take(size, ChainEnd::outermost, 600);
  CHECK_FALSE(size.choose(0, true));
  take(size, ChainEnd::outermost, 600);
  take(size, ChainEnd::copy_short, 2);
  CHECK(size.choose(100, true) == CopySize::kDeep);
  take(size, ChainEnd::outermost, 600);
  CHECK_FALSE(size.choose(120, true));
  take(size, ChainEnd::outermost, 600);
  CHECK(size.choose(160, true) == CopySize::kUsual);
  take(size, ChainEnd::copy_short, 600);
  CHECK_FALSE(size.choose(160, true));  // once is enough
  CopySize fixed(false);
  take(fixed, ChainEnd::copy_short, 600);
  CHECK_FALSE(fixed.choose(0, true));
}

}  // namespace causalctl::callpath
