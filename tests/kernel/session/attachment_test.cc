// An attachment to a real process, with and without pauses, and one that no detach ends.
#include "controller/session/attachment.h"

#include <string>

#include "controller/base/error.h"
#include "tests/kernel/tracee/target_process.h"

namespace causalctl::session {
namespace {

using tracee::test::handler_is_installed;
using tracee::test::program;
using tracee::test::TargetProcess;

config::Progress points(const std::string& spec) {
  config::Progress progress;
  progress.throughput = {spec};
  return progress;
}

struct Rig {
  TargetProcess target{{program("target_waits"), "busy", "1"}};
  tracee::Guardian guardian;
  Recording recording;

  Rig() { guardian.adopt(target.pid()); }

  void detach(Attachment& attachment) {
    recording.reason = EndReason::duration;
    recording.wall_ns = kSecond;
    attachment.detach();
  }
};

TEST_CASE("without a pause channel nothing is put into the target", "[session]") {
  Rig rig;
  Attachment attachment(rig.target.pid(), rig.guardian, points("main"), rig.recording);
  CHECK(rig.recording.pid == rig.target.pid());
  CHECK_THAT(rig.recording.executable, Catch::Matchers::EndsWith("/target_waits"));
  attachment.try_facilities("test");
  CHECK_FALSE(rig.recording.facilities.empty());
  attachment.attach({});
  REQUIRE(rig.recording.counting.size() == 1);
  CHECK(rig.recording.counting[0].point == "main");
  attachment.events().start();
  CHECK_FALSE(handler_is_installed(rig.target.pid()));
  rig.detach(attachment);
  CHECK(rig.recording.ended);
  CHECK(rig.recording.digest == DigestResult::same);
}

TEST_CASE("a detach takes out of the target what pauses have put in", "[session]") {
  Rig rig;
  Attachment attachment(rig.target.pid(), rig.guardian, points("main"), rig.recording);
  attachment.attach({});
  const pause::PauserChoice& pauses = attachment.open_pauses({});
  CHECK(handler_is_installed(rig.target.pid()) == (pauses.pauser->name() == "sigtrap"));
  rig.detach(attachment);
  CHECK_FALSE(handler_is_installed(rig.target.pid()));
  CHECK(rig.recording.digest == DigestResult::same);
  CHECK_FALSE(rig.recording.left_in_target);
}

TEST_CASE("where an exception ends the work, the guardian undoes the rest", "[session]") {
  const TargetProcess target({program("target_waits"), "busy", "1"});
  const auto attach_and_fail = [&] {
    tracee::Guardian guardian;
    guardian.adopt(target.pid());
    Recording recording;
    Attachment attachment(target.pid(), guardian, points("main"), recording);
    attachment.attach({});
    attachment.open_pauses({});
    throw Error("the work failed");
  };
  CHECK_THROWS_WITH(attach_and_fail(), "the work failed");
  CHECK_FALSE(handler_is_installed(target.pid()));
}

}  // namespace
}  // namespace causalctl::session
