#include "controller/perf/peer_trials.h"

#include <catch2/catch.hpp>
#include <functional>

namespace causalctl::perf {

namespace {

constexpr Pid kProcess = 7;

void times(std::uint64_t count, const std::function<void()>& what) {
  for (std::uint64_t i = 0; i < count; ++i) what();
}

using Pids = std::vector<Pid>;

}  // namespace

TEST_CASE("A thread that was woken often is a candidate, once until that is forgotten", "[perf]") {
  PeerTrials trials;
  CHECK(trials.take_woken_often(0).empty());
  times(kWokenOften - 1, [&] { trials.woken(3); });
  CHECK(trials.take_woken_often(1).empty());
  trials.woken(3);
  CHECK(trials.take_woken_often(2) == std::vector<Tid>{3});
  trials.woken(3);
  CHECK(trials.take_woken_often(3).empty());

  trials.take_woken_often(kForgetWakes);
  times(kWokenOften - 1, [&] { trials.woken(3); });
  CHECK(trials.take_woken_often(kForgetWakes + 1).empty());
  trials.woken(3);
  CHECK(trials.take_woken_often(kForgetWakes + 2) == std::vector<Tid>{3});
}

TEST_CASE("A process that wakes the target in its trial is a peer", "[perf]") {
  PeerTrials trials;
  REQUIRE(trials.begin(kProcess, 100));
  CHECK(trials.on_trial() == Pids{kProcess});
  CHECK_FALSE(trials.begin(kProcess, 101));
  times(kAnswers - 1, [&] { trials.answered(kProcess); });
  CHECK(trials.take_peers(102).empty());
  trials.answered(kProcess);
  CHECK(trials.take_peers(103) == Pids{kProcess});
  CHECK(trials.take_peers(104).empty());
  CHECK_FALSE(trials.on_trial(kProcess));
}

TEST_CASE("Answers that are few for the wake-ups are accidents", "[perf]") {
  PeerTrials trials;
  REQUIRE(trials.begin(kProcess, 0));
  times(kAnswers * kWakesPerAnswer + 1, [&] { trials.asked(kProcess); });
  times(kAnswers, [&] { trials.answered(kProcess); });
  CHECK(trials.take_peers(1).empty());
  trials.answered(kProcess);
  CHECK(trials.take_peers(2) == Pids{kProcess});
}

TEST_CASE("Who does not answer is let go of, and tried again later", "[perf]") {
  PeerTrials trials;
  REQUIRE(trials.begin(kProcess, 0));
  CHECK(trials.take_peers(kTrial - 1).empty());
  CHECK(trials.on_trial(kProcess));
  CHECK(trials.take_peers(kTrial).empty());
  CHECK_FALSE(trials.on_trial(kProcess));
  trials.answered(kProcess);  // a record that comes late
  CHECK(trials.take_peers(kTrial).empty());

  CHECK_FALSE(trials.begin(kProcess, kTrial + kRest - 1));
  CHECK(trials.begin(kProcess + 1, kTrial + 1));
  CHECK(trials.begin(kProcess, kTrial + kRest));
  times(kAnswers, [&] { trials.answered(kProcess); });
  CHECK(trials.take_peers(kTrial + kRest + 1) == Pids{kProcess});
}

TEST_CASE("A trial of a process that is gone is forgotten", "[perf]") {
  PeerTrials trials;
  REQUIRE(trials.begin(kProcess, 0));
  times(kAnswers, [&] { trials.answered(kProcess); });
  trials.end(kProcess);
  CHECK(trials.take_peers(1).empty());
  CHECK(trials.begin(kProcess, 2));
}

}  // namespace causalctl::perf
