#include "controller/tracee/inject/own_mask.h"

#include <catch2/catch.hpp>

namespace causalctl::tracee {

TEST_CASE("a thread that blocks all signals does so by its own choice if it lasts", "[tracee]") {
  // As the kernel shows the mask of glibc, and that of musl, which omits musl's own signals.
  const auto blocked =
      GENERATE(as<std::uint64_t>{}, 0xffff'ffff'fffb'feffULL, 0xffff'fffc'7ffb'feffULL);
  CHECK(is_own_mask({blocked, 'R', 5}, {0, 'R', 5}));
  CHECK(is_own_mask({blocked, 'R', 5}, {blocked & ~2ULL, 'D', 5}));
  CHECK(is_own_mask({blocked, 'S', 5}, {blocked, 'S', 5}));
  CHECK(is_own_mask({blocked, 'R', 5}, {blocked, 'R', 7}));
  CHECK_FALSE(is_own_mask({blocked, 'R', 5}, {blocked, 'R', 6}));  // it waits for a core
  // Its child has not executed a program yet.
  CHECK_FALSE(is_own_mask({blocked, 'D', 5}, {blocked, 'D', 5}));
  CHECK_FALSE(is_own_mask({blocked, 'S', 5}, {blocked, 'R', 5}));
  CHECK_FALSE(is_own_mask({blocked, 'T', 5}, {blocked, 'T', 5}));
}

}  // namespace causalctl::tracee
