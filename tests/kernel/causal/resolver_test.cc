// The thread that reads debug information, beside threads of a target that want the same cores.
#include "controller/causal/engine/resolver.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "controller/base/clock.h"
#include "controller/base/procfs.h"

namespace causalctl::causal {
namespace {

int threads_behind_others() {
  const auto tids = procfs::threads(getpid());
  return static_cast<int>(std::count_if(tids.begin(), tids.end(), [](Tid tid) {
    return getpriority(PRIO_PROCESS, static_cast<id_t>(tid)) > getpriority(PRIO_PROCESS, 0);
  }));
}

// Once it has read what there is.
int threads_behind_while_symbolizing(Haste haste) {
  SymbolizingThread thread(std::make_unique<unwind::Symbolizer>(getpid()), {}, haste);
  const Nanoseconds deadline_ns = monotonic_now() + 60 * kSecond;
  while (!thread.lines() && monotonic_now() < deadline_ns) {
    sleep_until(monotonic_now() + kMillisecond);
  }
  REQUIRE(thread.lines());
  return threads_behind_others();
}

}  // namespace

TEST_CASE("debug information is read behind a target, but not where its run may be short",
          "[causal]") {
  REQUIRE(threads_behind_others() == 0);
  CHECK(threads_behind_while_symbolizing(Haste::low_priority) == 1);
  CHECK(threads_behind_while_symbolizing(Haste::ordinary) == 0);
}

}  // namespace causalctl::causal
