// The facilities that pauses rely on are seen to work here, and reported broken if that is
// pretended.
#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "controller/base/procfs.h"
#include "controller/pause/blocked_trap.h"
#include "controller/pause/shot_filter.h"
#include "tests/support/pretend_broken.h"

namespace causalctl::pause {
namespace {

void on_trap(int /*signal*/) {}

class Handler {
 public:
  Handler() { signal(SIGTRAP, on_trap); }
  ~Handler() { signal(SIGTRAP, SIG_DFL); }
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;

  static bool is_there() {
    struct sigaction now {};
    return sigaction(SIGTRAP, nullptr, &now) == 0 && now.sa_handler == on_trap;
  }
};

void check_seen(const Trial& trial) {
  if (trial.outcome == Outcome::refused) {
    WARN(trial.finding);
  } else {
    INFO(trial.finding);
    CHECK(trial.outcome == Outcome::seen);
  }
}

}  // namespace

TEST_CASE("a SIGTRAP of an event and a BPF program are seen, the handler is as before", "[pause]") {
  const Handler handler;
  const auto children_before = procfs::descendants(getpid());
  check_seen(try_sigtrap());
  check_seen(ShotFilter::try_out());
  CHECK(Handler::is_there());
  CHECK(procfs::descendants(getpid()).size() <= children_before.size());
}

TEST_CASE("shots and filters that are pretended to be broken never fire", "[pause]") {
  const Handler handler;
  const PretendBroken seam("sigtrap,bpf");
  const Trial shot = try_sigtrap();
  if (shot.outcome != Outcome::refused) {
    CHECK(shot.outcome == Outcome::never_fired);
    CHECK(shot.finding == "an event was opened on ourselves, but no SIGTRAP came");
  }
  const Trial filter = ShotFilter::try_out();
  if (filter.outcome != Outcome::refused) {
    CHECK(filter.outcome == Outcome::never_fired);
    CHECK(filter.finding == "a program was loaded, but never ran at its event");
  }
  CHECK(Handler::is_there());
}

}  // namespace causalctl::pause
