#include "controller/tracee/undo_until_done.h"

#include <catch2/catch.hpp>
#include <deque>

namespace causalctl::tracee {
namespace {

// A target that stands still until its `goes_on`th event. A poll of it and an attempt are events.
// While it stands still nothing can be undone in it.
struct Frozen {
  int goes_on = 0;
  int events = 0;
  int attempts = 0;
  int waits = 0;

  std::vector<std::string> undo_until_done() {
    return tracee::undo_until_done(
        [this]() -> std::vector<std::string> {
          ++attempts;
          if (++events > goes_on) return {};
          return {"it is frozen"};
        },
        [this] { return ++events <= goes_on; },
        [this] {
          ++waits;
          ++events;
        });
  }
};

}  // namespace

TEST_CASE("what failed while the target stood still is undone whenever it goes on", "[tracee]") {
  for (int goes_on = 0; goes_on < 12; ++goes_on) {
    Frozen frozen{.goes_on = goes_on};
    INFO("goes on after " << goes_on << " polls, attempts and waits");
    CHECK(frozen.undo_until_done().empty());
    CHECK(frozen.attempts <= 2);  // no attempt while it stands still, after the first
    CHECK(frozen.waits <= goes_on / 2);
  }
}

TEST_CASE("what fails in a target that does not stand still is tried twice", "[tracee]") {
  int attempts = 0;
  const auto problems = undo_until_done(
      [&]() -> std::vector<std::string> {
        ++attempts;
        return {"a thread stays in the stub"};
      },
      [] { return false; }, [] { FAIL("it waits for nothing"); });
  CHECK(problems.size() == 1);
  CHECK(attempts == 2);
}

TEST_CASE("an attempt in which the target begins to stand still is repeated", "[tracee]") {
  // It resumes before the second attempt, after it, or while waiting, and then runs.
  std::deque<bool> polls{false, true, true, false};
  int attempts = 0;
  int waits = 0;
  const auto problems = undo_until_done(
      [&]() -> std::vector<std::string> {
        if (++attempts <= 2) return {"no thread could be stopped"};
        return {};
      },
      [&] {
        if (polls.empty()) return false;
        const bool still = polls.front();
        polls.pop_front();
        return still;
      },
      [&] { ++waits; });
  CHECK(problems.empty());
  CHECK(attempts == 3);
  CHECK(waits == 1);
}

}  // namespace causalctl::tracee
