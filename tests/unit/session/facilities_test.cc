#include "controller/session/facilities.h"

#include <catch2/catch.hpp>

namespace causalctl {

TEST_CASE("tries are told and recorded", "[session]") {
  const std::vector<Trial> trials = {
      {Facility::sample, Outcome::seen, "3 samples", "", 0},
      {Facility::wake_up, Outcome::never_fired, "opened, but no record came", "", 0},
      {Facility::bpf, Outcome::refused, "no BTF", "", 0}};
  CHECK(session::describe(trials) ==
        "sample seen, wake-up never-fired (opened, but no record came), bpf refused (no BTF)");
  session::Recording run;
  run.facilities = {{"sample", "refused"}, {"uprobe", "seen"}};
  session::record(trials, run);
  CHECK(run.facilities == std::map<std::string, std::string>{{"sample", "seen"},
                                                             {"uprobe", "seen"},
                                                             {"wake-up", "never-fired"},
                                                             {"bpf", "refused"}});
}

}  // namespace causalctl
