#include "controller/perf/ring_sizes.h"

#include <catch2/catch.hpp>

namespace causalctl::perf {

TEST_CASE("Rings of all threads fit into what may be locked", "[perf]") {
  const std::size_t lockable = GENERATE(258, 2306, 20'000);  // 1, 9 and 78 MB
  const std::size_t threads = GENERATE(1, 2, 8, 16, 64, 300);
  CAPTURE(lockable, threads);
  const RingSizes sizes = ring_sizes(threads, lockable);
  REQUIRE(sizes.pages >= 1);
  REQUIRE(sizes.most_stack_pages >= 1);
  // With the page that describes each ring.
  const std::size_t each = sizes.pages + 1 + sizes.most_stack_pages + 1;
  if (threads * 4 <= lockable / 4 * 3) CHECK(threads * each <= lockable / 4 * 3);
  CHECK((sizes.pages & (sizes.pages - 1)) == 0);
  CHECK((sizes.most_stack_pages & (sizes.most_stack_pages - 1)) == 0);
  // Little of it is left unused, if the rings are not as large as they would be anyhow.
  const RingSizes any = ring_sizes(threads, kAnyMemory);
  CHECK(sizes.pages <= any.pages);
  CHECK(sizes.most_stack_pages <= any.most_stack_pages);
  if (sizes.most_stack_pages < any.most_stack_pages) CHECK(threads * each * 3 > lockable / 4 * 3);
}

TEST_CASE("Samples in a small ring have less stack", "[perf]") {
  CHECK(most_stack_bytes(1 << 20) >= 60 * 1024);
  CHECK(most_stack_bytes(64 * 1024) == 7 * 1024);
  CHECK(most_stack_bytes(4096) >= 256);
  for (std::size_t bytes = 4096; bytes <= (4 << 20); bytes *= 2) {
    const std::size_t most = most_stack_bytes(bytes);
    CHECK(most % 8 == 0);
    CHECK(most < (1 << 16));  // a record's size is 16 bits
    if (bytes >= 16 * 1024) CHECK(8 * (most + kSampleOtherBytes) <= bytes);
  }
}

}  // namespace causalctl::perf
