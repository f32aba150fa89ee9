// Tests the rules of docs/virtual-time.md one by one.
#include "controller/causal/engine/ledger.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/unit/causal/threads.h"

namespace causalctl::causal {

using test::kA;
using test::kB;
using test::kC;
using test::kCpu0;
using test::kCpu1;

namespace {

// There are more cores than threads, so a thread that waits for a core waits for this one, which
// other programs may have.
Ledger two_threads(Ledger::UnseenCredit unseen = Ledger::UnseenCredit::none, int cores = 4) {
  Ledger ledger(unseen, cores);
  ledger.start_thread(kA, 0, 0);
  ledger.start_thread(kB, 0, 0);
  return ledger;
}

Nanoseconds debt(const Ledger& ledger, Tid thread) {
  return ledger.max_lead() - ledger.lead(thread);
}

TEST_CASE("a sample puts the others in debt, a pause pays it", "[causal][ledger]") {
  Ledger ledger = two_threads();
  ledger.earn(kA, 100);
  CHECK(ledger.max_lead() == 100);
  CHECK(debt(ledger, kA) == 0);
  CHECK(debt(ledger, kB) == 100);
  ledger.pay(kB, 130);  // the overshoot counts, so A is behind now
  CHECK(ledger.max_lead() == 130);
  CHECK(debt(ledger, kA) == 30);
  CHECK(debt(ledger, kB) == 0);
}

TEST_CASE("how long threads that make progress wait, and how many waits end externally",
          "[causal][ledger]") {
  Ledger ledger = two_threads();
  CHECK(ledger.mean_wait_ns() == 0);
  ledger.visited(kA);
  ledger.switched_out(kA, kCpu0, 1000, false, false);
  SECTION("told by an interrupt") { ledger.woken_externally(kA, 4000); }
  SECTION("seen when it runs") { ledger.switched_in(kA, kCpu0, 4000); }
  CHECK(ledger.mean_wait_ns() == 3000);
  CHECK(ledger.waits_ended_externally() == 1);
  CHECK(ledger.waits_ended_by_known() == 0);
  // A thread that makes no progress does not count, and a known waker is not external.
  ledger.switched_out(kB, kCpu1, 5000, false, false);
  ledger.woken(kB, kA, 6000);
  CHECK(ledger.mean_wait_ns() == 3000);
  CHECK(ledger.waits_ended_externally() == 1);
  CHECK(ledger.waits_ended_by_known() == 1);
  ledger.visited(kB);
  CHECK(ledger.mean_wait_ns() == 1500);
}

TEST_CASE("what those who make progress owe, on average", "[causal][ledger]") {
  Ledger ledger = two_threads();
  ledger.start_thread(kC, 0, 0);
  ledger.lift(100);
  CHECK(ledger.mean_debt_ns() == 0);
  ledger.visited(kA);
  ledger.visited(kB);
  CHECK(ledger.mean_debt_ns() == 100);
  ledger.pay(kA, 60);
  CHECK(ledger.mean_debt_ns() == 70);
}

TEST_CASE("where all threads run the unit, earned cancels debt", "[causal][ledger]") {
  Ledger ledger = two_threads();
  ledger.earn(kA, 100);
  ledger.earn(kB, 100);
  CHECK(debt(ledger, kA) == 0);
  CHECK(debt(ledger, kB) == 0);
}

TEST_CASE("a wake-up credits the waiter for no longer than it waited", "[causal][ledger]") {
  Ledger ledger = two_threads();
  ledger.switched_out(kB, kCpu1, 1000, false, false);
  ledger.earn(kA, 500);
  SECTION("long wait: all of the waker's lead") {
    ledger.woken(kB, kA, 5000);
    CHECK(ledger.lead(kB) == 500);
  }
  SECTION("short wait: only the time waited") {
    ledger.woken(kB, kA, 1200);
    CHECK(ledger.lead(kB) == 200);
    CHECK(debt(ledger, kB) == 300);
  }
}

TEST_CASE("a thread woken by one that owes more inherits the debt", "[causal][ledger]") {
  Ledger ledger = two_threads();
  ledger.earn(kB, 400);  // B is ahead, A owes
  ledger.switched_out(kB, kCpu1, 1000, false, false);
  ledger.woken(kB, kA, 3000);
  CHECK(ledger.lead(kB) == 0);
  CHECK(ledger.max_lead() == 0);  // the largest lead may fall
}

TEST_CASE("only the first edge of a wait counts, and only while blocked", "[causal][ledger]") {
  Ledger ledger = two_threads();
  ledger.start_thread(kC, 0, 0);
  ledger.earn(kA, 500);
  ledger.ran(kB);
  ledger.woken(kB, kA, 100);  // B runs, so there is no wait to end
  CHECK(ledger.lead(kB) == 0);
  ledger.switched_out(kB, kCpu1, 1000, false, false);
  ledger.woken(kB, kC, 1100);
  ledger.woken(kB, kA, 9000);
  CHECK(ledger.lead(kB) == 0);
}

TEST_CASE("threads that hardly run, and those of peers, are not in the foreground",
          "[causal][ledger]") {
  Ledger ledger = two_threads();
  ledger.start_peer(kC, 0, false);
  CHECK(ledger.foreground_threads() == 2);  // nothing is known yet
  ledger.switched_in(kC, kCpu1, 0);
  ledger.switched_in(kA, kCpu0, 0);
  ledger.switched_out(kA, kCpu0, kSecond, false, false);
  ledger.reset();
  CHECK(ledger.foreground_threads() == 1);
}

// A thread that goes to sleep can be woken before the record that it leaves its core.
TEST_CASE("a thread that was woken just before it left its core waits for a core only",
          "[causal][ledger]") {
  Ledger ledger = two_threads();
  ledger.earn(kA, 500);
  ledger.ran(kB);
  ledger.visited(kB);
  const auto sleeps_until = [&](Nanoseconds came_ns) {
    ledger.switched_out(kB, kCpu1, 100'000, false, false);
    ledger.switched_in(kB, kCpu1, came_ns);
  };
  SECTION("by a thread that is ahead: in virtual time it would not have gone to sleep") {
    ledger.woken(kB, kA, 99'000);
    sleeps_until(140'000);
    CHECK(ledger.lead(kB) == 40'000);  // its way to a core
    CHECK(ledger.waits_ended_by_known() == 1);
    CHECK(ledger.waits_ended_externally() == 0);
    CHECK(ledger.mean_wait_ns() == 0);
    CHECK(ledger.core_wait_ns() == 40'000);
  }
  SECTION("by a thread that owes more: it inherits the debt as it was then") {
    ledger.ran(kA);
    ledger.woken(kA, kB, 99'000);
    ledger.switched_out(kA, kCpu0, 100'000, false, false);
    ledger.pay(kB, 300);
    CHECK(ledger.lead(kA) == 500);
    ledger.switched_in(kA, kCpu0, 140'000);
    CHECK(ledger.lead(kA) == 0);
    CHECK(ledger.lead(kB) == 300);
    CHECK(ledger.waits_ended_by_known() == 1);
  }
  SECTION("and once more afterwards: it had been awake before it slept") {
    ledger.woken(kB, kA, 99'000);
    ledger.switched_out(kB, kCpu1, 100'000, false, false);
    ledger.woken(kB, kA, 120'000);
    ledger.switched_in(kB, kCpu1, 140'000);
    CHECK(debt(ledger, kB) == 0);
    CHECK(ledger.waits_ended_by_known() == 1);
    CHECK(ledger.mean_wait_ns() == 20'000);
  }
  SECTION("long before: another has woken it") {
    ledger.woken(kB, kA, 59'000);
    sleeps_until(140'000);
    CHECK(debt(ledger, kB) == 500);
    CHECK(ledger.waits_ended_externally() == 1);
  }
  SECTION("and a device after that thread") {
    ledger.woken(kB, kA, 98'000);
    ledger.woken_externally(kB, 99'000);
    sleeps_until(140'000);
    CHECK(debt(ledger, kB) == 500);
    CHECK(ledger.waits_ended_externally() == 1);
    CHECK(ledger.mean_wait_ns() == 0);
    CHECK(ledger.core_wait_ns() == 40'000);
  }
  SECTION("but came back late: something unseen has woken it") {
    ledger.woken(kB, kA, 99'000);
    sleeps_until(5 * kMillisecond);
    CHECK(ledger.lead(kB) == 0);
    CHECK(ledger.core_wait_ns() == 0);
    CHECK(ledger.waits_ended_externally() == 1);
  }
  SECTION("but was preempted and ran again before it slept") {
    ledger.woken(kB, kA, 99'000);
    ledger.switched_out(kB, kCpu1, 100'000, true, false);
    ledger.switched_in(kB, kCpu1, 101'000);
    ledger.switched_out(kB, kCpu1, 120'000, false, false);
    ledger.switched_in(kB, kCpu1, 140'000);
    CHECK(debt(ledger, kB) == 500);
    CHECK(ledger.waits_ended_externally() == 1);
  }
  SECTION("but did something before it slept") {
    ledger.woken(kB, kA, 99'000);
    SECTION("it passed a progress point") { ledger.visited(kB); }
    SECTION("it woke another thread") { ledger.woken(kA, kB, 99'500); }
    SECTION("an interrupt on its core woke it") { ledger.woken(kB, kB, 99'500); }
    sleeps_until(140'000);
    CHECK(ledger.waits_ended_externally() == 1);
  }
  SECTION("and slept in a pause of ours") {
    ledger.woken(kB, kA, 99'000);
    ledger.switched_out(kB, kCpu1, 100'000, false, true);
    ledger.switched_in(kB, kCpu1, 140'000);
    CHECK(ledger.waits_ended_by_known() == 0);
  }
}

TEST_CASE("an early wake-up of a peer rises with all leads", "[causal][ledger]") {
  Ledger ledger = two_threads();
  ledger.start_peer(kC, 0, false);
  ledger.ran(kC);
  ledger.woken(kC, kA, 99'000);
  ledger.switched_out(kC, kCpu1, 100'000, false, false);
  ledger.lift(1000);
  ledger.switched_in(kC, kCpu1, 140'000);
  CHECK(ledger.lead(kC) == 1000);
}

TEST_CASE("an external wake-up credits nothing", "[causal][ledger]") {
  Ledger ledger = two_threads();
  ledger.switched_out(kB, kCpu1, 1000, false, false);
  ledger.earn(kA, 500);
  ledger.woken(kB, 777, 5000);
  ledger.switched_in(kB, kCpu1, 5001);
  CHECK(debt(ledger, kB) == 500);
}

TEST_CASE("a thread that waited for a core continues where the core was left", "[causal][ledger]") {
  Ledger ledger = two_threads();
  ledger.switched_in(kA, kCpu0, 0);
  ledger.earn(kA, 5 * kMillisecond);
  ledger.switched_in(kB, kCpu1, 0);
  ledger.switched_out(kB, kCpu1, kMillisecond, true, false);
  SECTION("credit, limited by the wait") {
    ledger.switched_out(kA, kCpu0, 4 * kMillisecond, true, false);
    CHECK(ledger.switched_in(kB, kCpu0, 4 * kMillisecond).stolen_ns == 0);
    CHECK(ledger.lead(kB) == 3 * kMillisecond);
    CHECK(ledger.core_wait_ns() == 3 * kMillisecond);
  }
  SECTION("also when another program had the core in between") {
    ledger.switched_out(kA, kCpu0, 4 * kMillisecond, true, false);
    CHECK(ledger.switched_in(kB, kCpu0, 6 * kMillisecond).stolen_ns == 0);
    CHECK(ledger.lead(kB) == 5 * kMillisecond);
  }
  SECTION("by the virtual time at which it was left, whatever its thread did later") {
    ledger.switched_out(kA, kCpu0, 4 * kMillisecond, true, false);
    ledger.earn(kA, 10 * kMillisecond);
    ledger.switched_in(kB, kCpu0, 9 * kMillisecond);
    CHECK(ledger.lead(kB) == 5 * kMillisecond);
  }
  SECTION("none for a core that was left before it began to wait") {
    ledger.switched_out(kA, kCpu0, kMillisecond / 2, true, false);
    ledger.switched_in(kB, kCpu0, 6 * kMillisecond);
    CHECK(ledger.lead(kB) == 0);
  }
  SECTION("a thread that ended left it, too") {
    ledger.end_thread(kA, 4 * kMillisecond);
    ledger.switched_in(kB, kCpu0, 4 * kMillisecond);
    CHECK(ledger.lead(kB) == 3 * kMillisecond);
  }
}

// B takes core 0 from A, which is 10 ms ahead, and C leaves core 1 to A.
TEST_CASE("who is preempted has run on until its successor came", "[causal][ledger]") {
  Ledger ledger = two_threads();
  ledger.start_thread(kC, 0, 0);
  ledger.switched_in(kA, kCpu0, 0);
  ledger.switched_in(kC, kCpu1, 0);
  ledger.earn(kA, 10 * kMillisecond);
  const auto hand_on = [&](Nanoseconds at_ns, Nanoseconds back_ns, bool preempted = true) {
    ledger.switched_out(kA, kCpu0, at_ns, preempted, false);
    ledger.switched_in(kB, kCpu0, at_ns);
    if (!preempted) ledger.woken_externally(kA, at_ns);
    ledger.switched_out(kC, kCpu1, back_ns, true, false);
    ledger.switched_in(kA, kCpu1, back_ns);
  };
  SECTION("by what its successor is behind") {
    ledger.earn(kB, 3 * kMillisecond);
    hand_on(13 * kMillisecond, 15 * kMillisecond);
    CHECK(ledger.lead(kA) == 7 * kMillisecond);
  }
  SECTION("beside the credit of the core that it comes to") {
    ledger.earn(kB, 6 * kMillisecond);
    ledger.earn(kC, 7 * kMillisecond);
    hand_on(13 * kMillisecond, 17 * kMillisecond);
    CHECK(ledger.lead(kA) == (7 + 4) * kMillisecond);
  }
  SECTION("but it has waited no longer than it has") {
    ledger.earn(kC, 9 * kMillisecond);
    hand_on(13 * kMillisecond, 17 * kMillisecond);
    CHECK(ledger.lead(kA) == (10 + 4) * kMillisecond);
  }
  SECTION("not where its successor is ahead") {
    ledger.earn(kB, 11 * kMillisecond);
    hand_on(13 * kMillisecond, 15 * kMillisecond);
    CHECK(ledger.lead(kA) == 0);
  }
  SECTION("not where it left by itself") {
    hand_on(13 * kMillisecond, 15 * kMillisecond, false);
    CHECK(ledger.lead(kA) == 0);
  }
  SECTION("not where another program had the core in between") {
    ledger.switched_out(kA, kCpu0, 13 * kMillisecond, true, false);
    ledger.switched_in(kB, kCpu0, 14 * kMillisecond);
    ledger.switched_out(kC, kCpu1, 15 * kMillisecond, true, false);
    ledger.switched_in(kA, kCpu1, 15 * kMillisecond);
    CHECK(ledger.lead(kA) == 0);
  }
  SECTION("not where it has had another core since") {
    constexpr Nanoseconds at_ns = 13 * kMillisecond;
    ledger.earn(kC, 10 * kMillisecond);
    ledger.switched_out(kA, kCpu0, at_ns, true, false);
    ledger.switched_in(kA, kCpu1, at_ns + 5000);
    ledger.switched_out(kA, kCpu1, at_ns + 10'000, true, false);
    ledger.switched_in(kC, kCpu1, at_ns + 10'000);
    ledger.switched_in(kB, kCpu0, at_ns + 15'000);
    ledger.switched_out(kC, kCpu1, 15 * kMillisecond, true, false);
    ledger.switched_in(kA, kCpu1, 15 * kMillisecond);
    CHECK(ledger.lead(kA) == 10 * kMillisecond);
  }
  SECTION("not where its successor comes out of a pause, which is not paid yet") {
    ledger.switched_in(kB, kCpu1, 0);
    ledger.switched_out(kB, kCpu1, kMillisecond, false, true);
    ledger.switched_in(kC, kCpu1, kMillisecond);
    hand_on(13 * kMillisecond, 15 * kMillisecond);
    CHECK(ledger.lead(kA) == 0);
  }
  SECTION("once") {
    ledger.earn(kB, 3 * kMillisecond);
    hand_on(13 * kMillisecond, 15 * kMillisecond);
    ledger.switched_out(kA, kCpu1, 16 * kMillisecond, true, false);
    ledger.switched_out(kB, kCpu0, 18 * kMillisecond, true, false);
    ledger.switched_in(kA, kCpu0, 18 * kMillisecond);
    CHECK(ledger.lead(kA) == 3 * kMillisecond);
  }
  SECTION("not in the next experiment") {
    ledger.switched_out(kA, kCpu0, 13 * kMillisecond, true, false);
    ledger.switched_in(kB, kCpu0, 13 * kMillisecond);
    ledger.reset();
    ledger.switched_out(kC, kCpu1, 15 * kMillisecond, true, false);
    ledger.switched_in(kA, kCpu1, 15 * kMillisecond);
    CHECK(ledger.lead(kA) == 0);
  }
}

TEST_CASE("a new thread waits for its first core", "[causal][ledger]") {
  Ledger ledger = two_threads();
  ledger.switched_in(kA, kCpu0, 0);
  ledger.start_thread(kC, kB, kMillisecond);
  ledger.earn(kA, 5 * kMillisecond);
  ledger.switched_out(kA, kCpu0, 3 * kMillisecond, false, false);
  ledger.switched_in(kC, kCpu0, 3 * kMillisecond);
  CHECK(ledger.lead(kC) == 2 * kMillisecond);
}

TEST_CASE("a thread that is woken before it was seen on a core has blocked unseen",
          "[causal][ledger]") {
  Ledger ledger = two_threads();
  SECTION("a new one") {
    const bool found_blocked = GENERATE(false, true);
    ledger.start_thread(kC, kA, kMillisecond, found_blocked);
    ledger.earn(kA, 5 * kMillisecond);
    CHECK(ledger.may_be_woken(kC));
    ledger.woken(kC, kA, 4 * kMillisecond);  // it cannot have blocked before its birth
    CHECK(ledger.lead(kC) == 3 * kMillisecond);
    CHECK_FALSE(ledger.may_be_woken(kC));
    ledger.switched_in(kC, kCpu1, 5 * kMillisecond);
    CHECK(ledger.core_wait_ns() == kMillisecond);
  }
  SECTION("one that was there before us") {
    ledger.earn(kA, 500);
    ledger.woken(kB, kA, 5000);
    CHECK(ledger.lead(kB) == 500);
  }
  SECTION("one that was found blocked, and that nobody of us wakes, waits for no core") {
    ledger.start_thread(kC, kA, kMillisecond, true);
    ledger.switched_in(kC, kCpu1, kSecond);
    CHECK(ledger.core_wait_ns() == 0);
  }
  SECTION("not one that runs, but it may be about to block") {
    ledger.earn(kA, 500);
    ledger.start_thread(kC, kB, kMillisecond);
    ledger.ran(kC);
    CHECK(ledger.may_be_woken(kC));
    ledger.woken(kC, kA, 4 * kMillisecond);
    CHECK(ledger.lead(kC) == 0);
  }
}

TEST_CASE("a thread that a device wakes waits for a core from then on", "[causal][ledger]") {
  Ledger ledger = two_threads();
  ledger.switched_out(kB, kCpu0, kMillisecond, false, false);
  ledger.switched_in(kA, kCpu0, kMillisecond);
  ledger.earn(kA, 5 * kMillisecond);
  const bool paused = GENERATE(false, true);
  if (paused) ledger.switched_out(kB, kCpu0, 2 * kMillisecond, false, true);
  SECTION("in an interrupt") { ledger.woken_externally(kB, 6 * kMillisecond); }
  SECTION("by a thread that nobody knows") { ledger.woken(kB, 777, 6 * kMillisecond); }
  CHECK(ledger.lead(kB) == 0);
  ledger.switched_out(kA, kCpu0, 9 * kMillisecond, true, false);
  CHECK(ledger.switched_in(kB, kCpu0, 9 * kMillisecond).stolen_ns == 0);
  // The wait after one of our pauses is part of the pause's measured length.
  CHECK(ledger.lead(kB) == (paused ? 0 : 3 * kMillisecond));
  CHECK(ledger.core_wait_ns() == (paused ? 0 : 3 * kMillisecond));
}

TEST_CASE("the time for which another program had a thread's core is told", "[causal][ledger]") {
  Ledger ledger = two_threads();
  ledger.switched_in(kA, kCpu0, 0);
  ledger.switched_out(kA, kCpu0, 1000, true, false);
  SECTION("it comes back to its own core") {
    CHECK(ledger.switched_in(kA, kCpu0, 61'000).stolen_ns == 60'000);
    CHECK(ledger.lead(kA) == 0);
  }
  SECTION("a thread of the target had it") {
    ledger.switched_in(kB, kCpu0, 2000);
    ledger.switched_out(kB, kCpu0, 50'000, true, false);
    CHECK(ledger.switched_in(kA, kCpu0, 61'000).stolen_ns == 0);
  }
  SECTION("it goes on on another core") {
    CHECK(ledger.switched_in(kA, kCpu1, 61'000).stolen_ns == 0);
  }
  SECTION("it blocked by itself") {
    ledger.switched_in(kA, kCpu0, 2000);
    ledger.switched_out(kA, kCpu0, 3000, false, false);
    CHECK(ledger.switched_in(kA, kCpu0, 61'000).stolen_ns == 0);
  }
}

// B waits for 9 ms, on two cores.
TEST_CASE("a wait for a core is other processes' where the target's own cores would do",
          "[causal][ledger]") {
  constexpr auto none = Ledger::UnseenCredit::none;
  const auto waits = [](Ledger ledger, auto&& meanwhile) {
    ledger.switched_in(kA, kCpu0, 0);
    ledger.switched_in(kB, kCpu1, 0);
    ledger.switched_out(kB, kCpu1, kMillisecond, true, false);
    meanwhile(ledger);
    ledger.switched_in(kB, kCpu1, 10 * kMillisecond);
    CHECK(ledger.core_wait_ns() >= 9 * kMillisecond);
    CHECK(ledger.own_wait_ns() == ledger.core_wait_ns() - ledger.foreign_wait_ns());
    return ledger.foreign_wait_ns();
  };
  CHECK(waits(two_threads(none, 2), [](Ledger&) {}) == 9 * kMillisecond);
  CHECK(waits(two_threads(none, 1), [](Ledger&) {}) == 0);
  CHECK(waits(two_threads(none, 1), [](Ledger& ledger) {
          ledger.switched_out(kA, kCpu0, 4 * kMillisecond, false, false);
        }) == 6 * kMillisecond);
  // A third thread takes B's core, and leaves it.
  CHECK(waits(two_threads(none, 2), [](Ledger& ledger) {
          ledger.start_thread(kC, kA, 2 * kMillisecond);
          ledger.switched_in(kC, kCpu1, 2 * kMillisecond);
          ledger.end_thread(kC, 8 * kMillisecond);
        }) == 3 * kMillisecond);
  // Threads that have ended, or begin again with the same id, must not count for ever.
  CHECK(waits(two_threads(none, 2), [](Ledger& ledger) {
          ledger.start_thread(kC, kA, kMillisecond);
          ledger.end_thread(kC, kMillisecond);
          ledger.start_thread(kA, 0, kMillisecond);
          ledger.ran(kA);
        }) == 9 * kMillisecond);
  // Two threads wait for the one core that others have, so each waits for half of it.
  CHECK(waits(two_threads(none, 2), [](Ledger& ledger) {
          ledger.start_thread(kC, kA, kMillisecond);
          ledger.switched_in(kC, kCpu0, 10 * kMillisecond);
        }) == 9 * kMillisecond);
}

TEST_CASE("a target stalls while none of its threads runs though some want to",
          "[causal][ledger]") {
  Ledger ledger = two_threads(Ledger::UnseenCredit::none, 2);
  ledger.switched_in(kA, kCpu0, 0);
  ledger.switched_in(kB, kCpu1, 0);
  ledger.switched_out(kA, kCpu0, 1000, true, false);  // B continues to run
  ledger.switched_out(kB, kCpu1, 3000, true, false);
  ledger.switched_in(kA, kCpu0, 7000);
  CHECK(ledger.stalled_ns() == 4000);
  ledger.switched_in(kB, kCpu1, 9000);
  ledger.switched_out(kA, kCpu0, 9000, false, false);  // no thread wants to run
  ledger.switched_out(kB, kCpu1, 9000, false, false);
  ledger.switched_in(kA, kCpu0, 20000);
  CHECK(ledger.stalled_ns() == 4000);
}

TEST_CASE("in a uniform pause no thread owes what another stood still for too long",
          "[causal][ledger]") {
  Ledger ledger = two_threads();
  ledger.lift(1000);
  ledger.pay(kA, 1700);
  CHECK(ledger.max_lead() == 1000);
  for (const Ledger::Debt& debt : ledger.debts()) {
    CHECK(debt.debt_ns == (debt.thread == kA ? -700 : 1000));
  }
  ledger.lift(500);  // A has paid it
  for (const Ledger::Debt& debt : ledger.debts()) {
    CHECK(debt.debt_ns == (debt.thread == kA ? -200 : 1500));
  }
}

TEST_CASE("a short wait after a wake-up is the scheduler's, nobody else's", "[causal][ledger]") {
  const auto after_wait = [](int cores, bool preempted, Nanoseconds wait_ns) {
    Ledger ledger = two_threads(Ledger::UnseenCredit::none, cores);
    ledger.switched_in(kA, kCpu0, 0);
    ledger.switched_in(kB, kCpu1, 0);
    ledger.switched_out(kB, kCpu1, kMillisecond, preempted, false);
    if (!preempted) ledger.woken(kB, kA, kMillisecond);
    ledger.switched_in(kB, kCpu1, kMillisecond + wait_ns);
    CHECK(ledger.core_wait_ns() == wait_ns);
    return ledger;
  };
  const auto foreign_ns = [&](bool preempted, Nanoseconds wait_ns) {
    return after_wait(2, preempted, wait_ns).foreign_wait_ns();
  };
  const auto own_ns = [&](bool preempted, Nanoseconds wait_ns) {
    return after_wait(1, preempted, wait_ns).own_wait_ns();
  };
  CHECK(foreign_ns(false, 150 * kMicrosecond) == 0);
  CHECK(foreign_ns(false, 250 * kMicrosecond) == 250 * kMicrosecond);
  CHECK(foreign_ns(true, 150 * kMicrosecond) == 150 * kMicrosecond);
  CHECK(own_ns(false, 150 * kMicrosecond) == 0);
  CHECK(own_ns(false, 250 * kMicrosecond) == 250 * kMicrosecond);
  CHECK(own_ns(true, 150 * kMicrosecond) == 150 * kMicrosecond);
}

TEST_CASE("a wait that is none in virtual time costs no wake-up", "[causal][ledger]") {
  Ledger ledger = two_threads();
  ledger.earn(kA, 5000);
  ledger.switched_out(kB, kCpu1, 10'000, false, false);
  SECTION("A's wake-up comes before B's arrival: B would have gone on at 10,000") {
    ledger.woken(kB, kA, 12'000);
    ledger.switched_in(kB, kCpu1, 12'700);
    CHECK(ledger.lead(kB) == 2700);
  }
  SECTION("B waits in virtual time, too, and then for the wake-up to reach it") {
    ledger.woken(kB, kA, 16'000);
    ledger.switched_in(kB, kCpu1, 16'700);
    CHECK(ledger.lead(kB) == 5000);
  }
  SECTION("only that one wake-up") {
    ledger.woken(kB, kA, 12'000);
    ledger.switched_in(kB, kCpu1, 12'700);
    ledger.switched_out(kB, kCpu1, 20'000, true, false);
    ledger.switched_in(kB, kCpu1, 20'500);
    CHECK(ledger.lead(kB) == 2700);
  }
}

// A timer wakes C every millisecond, and C runs for 10 us each time; A gains.
struct Housekeeping {
  Ledger ledger = two_threads();
  Nanoseconds now_ns = 0;

  explicit Housekeeping(Nanoseconds work_ns) {
    ledger.start_thread(kC, 0, 0);
    for (const Tid each : {kA, kB}) ledger.switched_in(each, kCpu0, 0);
    for (int i = 0; i < 20; ++i) {
      ledger.switched_out(kC, kCpu1, now_ns, false, false);
      now_ns += kMillisecond - work_ns;
      ledger.switched_in(kC, kCpu1, now_ns);
      now_ns += work_ns;
    }
    for (const Tid each : {kA, kB}) {  // they have run all the time
      ledger.switched_out(each, kCpu0, now_ns, true, false);
      ledger.switched_in(each, kCpu0, now_ns);
    }
    ledger.reset();
    ledger.earn(kA, 5 * kMillisecond);
  }
  Nanoseconds asked_of(Tid thread) const {
    for (const Ledger::Debt& debt : ledger.debts()) {
      if (debt.thread == thread) return debt.debt_ns;
    }
    return -1;
  }
  // A began to wait this long ago, and C wakes it now.
  void meet(Nanoseconds ago_ns) {
    ledger.switched_out(kA, kCpu0, now_ns - ago_ns, false, false);
    ledger.woken(kA, kC, now_ns);
  }
};

TEST_CASE("a background thread is not asked to pay", "[causal][ledger]") {
  const Housekeeping scene(10 * kMicrosecond);
  CHECK(debt(scene.ledger, kC) == 5 * kMillisecond);
  CHECK(scene.asked_of(kC) == 0);
  CHECK(scene.asked_of(kB) == 5 * kMillisecond);
  CHECK(Housekeeping(200 * kMicrosecond).asked_of(kC) == 5 * kMillisecond);
  Housekeeping progressing(10 * kMicrosecond);
  progressing.ledger.visited(kC);
  CHECK(progressing.asked_of(kC) == 5 * kMillisecond);
}

TEST_CASE("a thread that never leaves its core is no background thread", "[causal][ledger]") {
  Ledger ledger = two_threads();
  ledger.switched_out(kA, kCpu0, 0, false, false);
  ledger.switched_in(kA, kCpu0, 10);  // woken externally, and busy ever since
  ledger.switched_in(kB, kCpu1, 10);
  ledger.switched_out(kB, kCpu1, kMillisecond, false, false);
  ledger.reset();
  ledger.earn(kB, 1000);
  const auto debts = ledger.debts();
  CHECK(std::any_of(debts.begin(), debts.end(),
                    [](const auto& debt) { return debt.thread == kA && debt.debt_ns == 1000; }));
}

TEST_CASE("a lock held by a background thread hands on no debt", "[causal][ledger]") {
  SECTION("it was met after it had woken up") {
    Housekeeping scene(10 * kMicrosecond);
    scene.meet(4 * kMicrosecond);
    CHECK(scene.ledger.lead(kA) == 5 * kMillisecond);
  }
  SECTION("it was waited for before: its timer is what counts") {
    Housekeeping scene(10 * kMicrosecond);
    scene.meet(500 * kMicrosecond);
    CHECK(scene.ledger.lead(kA) == 0);
  }
  SECTION("a pause of ours is not its timer") {
    Housekeeping scene(10 * kMicrosecond);
    scene.ledger.switched_out(kC, kCpu1, scene.now_ns, false, true);
    scene.ledger.switched_in(kC, kCpu1, scene.now_ns + 100 * kMicrosecond);
    scene.now_ns += 100 * kMicrosecond;
    scene.meet(90 * kMicrosecond);
    CHECK(scene.ledger.lead(kA) == 5 * kMillisecond);
  }
  SECTION("it is in step with the others since one of them has woken it") {
    Housekeeping scene(10 * kMicrosecond);
    scene.ledger.switched_out(kC, kCpu1, scene.now_ns, false, false);
    scene.now_ns += 10 * kMillisecond;
    scene.ledger.woken(kC, kB, scene.now_ns);  // B owes all of it
    scene.ledger.switched_in(kC, kCpu1, scene.now_ns);
    scene.now_ns += 10 * kMicrosecond;
    scene.meet(4 * kMicrosecond);
    CHECK(scene.ledger.lead(kA) == 0);
  }
  SECTION("it runs often") {
    Housekeeping worker(200 * kMicrosecond);
    worker.meet(4 * kMicrosecond);
    CHECK(worker.ledger.lead(kA) == 0);
  }
}

TEST_CASE("a core left by a background thread hands on no debt", "[causal][ledger]") {
  const auto local_after = [](Nanoseconds work_ns) {
    Housekeeping scene(work_ns);
    scene.ledger.switched_out(kA, kCpu1, scene.now_ns - 60 * kMicrosecond, true, false);
    scene.ledger.switched_out(kC, kCpu1, scene.now_ns, false, false);
    scene.ledger.switched_in(kA, kCpu1, scene.now_ns);
    return scene.ledger.lead(kA);
  };
  CHECK(local_after(10 * kMicrosecond) == 5 * kMillisecond);
  CHECK(local_after(200 * kMicrosecond) == 0);
}

TEST_CASE("a background thread comes when its timer says so, not later for what it owes",
          "[causal][ledger]") {
  const auto local_after = [](Nanoseconds work_ns) {
    Housekeeping scene(work_ns);
    const Nanoseconds now_ns = scene.now_ns;
    scene.ledger.switched_out(kC, kCpu0, now_ns - 60 * kMicrosecond, false, false);
    scene.ledger.switched_out(kA, kCpu1, now_ns, true, false);
    scene.ledger.switched_in(kC, kCpu1, now_ns);
    scene.ledger.switched_out(kB, kCpu0, now_ns + kMillisecond, true, false);
    scene.ledger.switched_in(kA, kCpu0, now_ns + kMillisecond);
    return scene.ledger.lead(kA);
  };
  CHECK(local_after(10 * kMicrosecond) == 0);
  CHECK(local_after(200 * kMicrosecond) == 5 * kMillisecond);
}

// A and B run on the two cores, and C and D wait. A is 10 ms ahead when the cores become busy.
struct FourOnTwo {
  static constexpr Tid kD = 4;
  Ledger ledger{Ledger::UnseenCredit::none, 2};

  FourOnTwo() {
    for (const Tid each : {kA, kB, kC, kD}) ledger.start_thread(each, 0, 0);
    ledger.switched_in(kA, kCpu0, 0);
    ledger.earn(kA, 10 * kMillisecond);
    ledger.switched_in(kB, kCpu1, 0);
    for (const Tid each : {kC, kD}) {
      ledger.switched_out(each, kCpu1, 0, false, false);
      ledger.woken(each, kB, kMillisecond);
    }
  }
};

TEST_CASE("while all cores are busy they have one lead", "[causal][ledger]") {
  constexpr Nanoseconds end_ns = 31 * kMillisecond;
  FourOnTwo four;
  Ledger& ledger = four.ledger;
  SECTION("at first that of those who run, on average") {
    ledger.switched_out(kB, kCpu1, end_ns, false, false);  // its own lead is 0
    ledger.switched_in(kC, kCpu1, end_ns);
    CHECK(ledger.lead(kC) == 5 * kMillisecond);
  }
  SECTION("it grows by each core's part of what is earned on any") {
    ledger.earn(kA, 4 * kMillisecond);
    ledger.switched_out(kB, kCpu1, end_ns, true, false);
    ledger.switched_in(kC, kCpu1, end_ns);
    CHECK(ledger.lead(kC) == (5 + 2) * kMillisecond);
  }
  SECTION("not by what is paid") {
    ledger.pay(kA, 4 * kMillisecond);
    ledger.switched_out(kB, kCpu1, end_ns, false, false);
    ledger.switched_in(kC, kCpu1, end_ns);
    CHECK(ledger.lead(kC) == 5 * kMillisecond);
  }
  SECTION("who waits is credited for no longer than it waited") {
    ledger.switched_out(kB, kCpu1, 3 * kMillisecond, false, false);
    ledger.switched_in(kC, kCpu1, 3 * kMillisecond);
    CHECK(ledger.lead(kC) == 2 * kMillisecond);
  }
  SECTION("a short wait is one, too") {
    ledger.switched_out(kB, kCpu1, kMillisecond + 10'000, false, false);
    ledger.switched_in(kC, kCpu1, kMillisecond + 10'000);
    CHECK(ledger.lead(kC) == 10'000);
  }
  SECTION("but not that of one that came by preempting") {
    ledger.earn(kC, 9 * kMillisecond);
    ledger.switched_out(kB, kCpu1, kMillisecond + 10'000, true, false);
    ledger.switched_in(kC, kCpu1, kMillisecond + 10'000);
    CHECK(ledger.lead(kC) == 9 * kMillisecond);
  }
  SECTION("who is ahead of it waits as long as the others") {
    ledger.switched_out(kA, kCpu0, 2 * kMillisecond, true, false);
    ledger.switched_in(kC, kCpu0, 2 * kMillisecond);
    ledger.switched_out(kB, kCpu1, end_ns, false, false);
    ledger.switched_in(kA, kCpu1, end_ns);
    CHECK(ledger.lead(kA) == (5 + 9) * kMillisecond);  // C was 9 ms behind, so A has run on
  }
  SECTION("it is forgotten when a core was idle") {
    ledger.earn(kB, 20 * kMillisecond);
    ledger.switched_out(kA, kCpu0, 2 * kMillisecond, false, false);
    ledger.switched_in(kC, kCpu0, 2 * kMillisecond);
    ledger.switched_out(kC, kCpu0, 3 * kMillisecond, false, false);
    ledger.switched_in(FourOnTwo::kD, kCpu0, 3 * kMillisecond);
    ledger.switched_out(FourOnTwo::kD, kCpu0, 4 * kMillisecond, false, false);
    ledger.switched_out(kB, kCpu1, 5 * kMillisecond, false, false);
    // C and D, with leads of 1 and 2 ms, are woken and run, and A waits.
    ledger.switched_in(kC, kCpu0, 6 * kMillisecond);
    ledger.switched_in(FourOnTwo::kD, kCpu1, 6 * kMillisecond);
    ledger.woken_externally(kA, 6 * kMillisecond);
    ledger.switched_out(FourOnTwo::kD, kCpu1, 20 * kMillisecond, false, false);
    ledger.switched_in(kA, kCpu1, 20 * kMillisecond);
    CHECK(ledger.lead(kA) == (1 + 2) * kMillisecond / 2);
  }
}

TEST_CASE("a thread is held up for no longer than cores are short", "[causal][ledger]") {
  Ledger ledger(Ledger::UnseenCredit::none, 2);
  for (const Tid each : {kA, kB, kC}) ledger.start_thread(each, 0, 0);
  ledger.switched_in(kC, kCpu1, 0);
  ledger.switched_out(kC, kCpu1, 0, false, false);
  ledger.switched_in(kA, kCpu0, 0);
  ledger.earn(kA, 10 * kMillisecond);
  ledger.switched_in(kB, kCpu1, 0);  // the cores' lead is 5 ms
  constexpr Nanoseconds kWoken = 20 * kMillisecond;
  constexpr Nanoseconds kLength = 100 * kMicrosecond;
  ledger.woken(kC, kA, kWoken);
  ledger.switched_out(kA, kCpu0, kWoken, true, false);
  ledger.switched_in(kC, kCpu0, kWoken);
  ledger.switched_out(kC, kCpu0, kWoken + kLength, false, false);
  ledger.switched_in(kA, kCpu0, kWoken + kLength);
  CHECK(ledger.lead(kA) == 10 * kMillisecond - kLength);
}

TEST_CASE("what is gained passes through a thread of another process", "[causal][ledger]") {
  Ledger ledger = two_threads();
  ledger.start_peer(kC, 0, true);
  CHECK(ledger.is_peer(kC));
  CHECK_FALSE(ledger.is_peer(kA));
  SECTION("to whom it wakes, and no more than it has waited") {
    ledger.earn(kA, 5 * kMillisecond);
    ledger.switched_out(kB, kCpu1, 2 * kMillisecond, false, false);
    ledger.woken(kC, kA, 3 * kMillisecond);  // it has waited for 3 ms
    CHECK(ledger.lead(kC) == 3 * kMillisecond);
    ledger.woken(kB, kC, 6 * kMillisecond);
    CHECK(ledger.lead(kB) == 3 * kMillisecond);
  }
  SECTION("one that has gained nothing holds up those who wait for it") {
    ledger.switched_in(kC, kCpu0, 0);
    ledger.earn(kA, 5 * kMillisecond);
    ledger.switched_out(kA, kCpu0, 2 * kMillisecond, false, false);
    ledger.woken(kA, kC, 6 * kMillisecond);
    CHECK(ledger.lead(kA) == 0);
  }
  SECTION("it owes nothing, for it cannot be paused") {
    ledger.earn(kA, 5 * kMillisecond);
    for (const auto& each : ledger.debts()) CHECK(each.thread != kC);
  }
  SECTION("its waits for a core are none of the target's") {
    ledger.woken(kC, kA, kMillisecond);
    ledger.switched_out(kA, kCpu0, 5 * kMillisecond, false, false);
    ledger.switched_in(kC, kCpu0, 5 * kMillisecond);
    CHECK(ledger.core_wait_ns() == 0);
  }
  SECTION("in a uniform pause it stands still with all others") {
    ledger.lift(3 * kMillisecond);
    CHECK(ledger.lead(kC) == 3 * kMillisecond);
    CHECK(ledger.lead(kA) == 0);
  }
}

// A and B share one core. C runs elsewhere and takes no core from them.
TEST_CASE("a thread of another process counts where the target's threads run", "[causal][ledger]") {
  const auto credit = [](std::uint32_t where) {
    Ledger ledger = two_threads(Ledger::UnseenCredit::none, 2);
    ledger.start_peer(kC, 0, true);
    ledger.switched_in(kB, kCpu1, 0);
    ledger.switched_in(kA, kCpu0, 0);
    ledger.switched_out(kA, kCpu0, 1000, false, false);
    ledger.switched_in(kC, where, 1000);
    ledger.earn(kB, 4 * kMillisecond);
    ledger.woken_externally(kA, 2000);
    ledger.switched_out(kB, kCpu1, 2000 + 10'000, false, false);
    ledger.switched_in(kA, kCpu1, 2000 + 10'000);
    return ledger.lead(kA);
  };
  CHECK(credit(kCpu0) == 10'000);  // A waited for a core
  CHECK(credit(7) == 0);           // A was being moved to another core
}

TEST_CASE("a thread that spins waits for the one that is ahead", "[causal][ledger]") {
  Ledger ledger = two_threads();
  ledger.earn(kA, 500);
  ledger.spun(kB, 200);
  CHECK(ledger.lead(kB) == 200);
  ledger.spun(kB, 900);
  CHECK(ledger.lead(kB) == 500);
  ledger.spun(kA, 900);
  CHECK(ledger.lead(kA) == 500);
}

TEST_CASE("a new thread inherits its parent's lead, a dead one leaves", "[causal][ledger]") {
  Ledger ledger = two_threads();
  ledger.earn(kA, 300);
  ledger.start_thread(kC, kB, 10);
  CHECK(debt(ledger, kC) == 300);
  ledger.end_thread(kA, 0);
  CHECK(ledger.max_lead() == 0);
  CHECK(debt(ledger, kC) == 0);
}

TEST_CASE("who wakes up right after a thread's end was waiting for it", "[causal][ledger]") {
  Ledger ledger = two_threads();
  ledger.earn(kB, 300);
  const bool paused = GENERATE(false, true);
  ledger.switched_out(kA, kCpu0, 1000, false, paused);
  ledger.end_thread(kB, 5000);
  SECTION("soon: credit, unless it was in a pause of ours") {
    ledger.switched_in(kA, kCpu0, 6000);
    CHECK(ledger.lead(kA) == (paused ? 0 : 300));
  }
  SECTION("later: something else woke it") {
    ledger.switched_in(kA, kCpu0, 5000 + kMillisecond);
    CHECK(ledger.lead(kA) == 0);
  }
}

TEST_CASE("without wake edges every wait but our pause is credited", "[causal][ledger]") {
  Ledger ledger = two_threads(Ledger::UnseenCredit::full);
  ledger.earn(kA, 500);
  SECTION("a wait") {
    ledger.switched_out(kB, kCpu1, 1000, false, false);
    ledger.switched_in(kB, kCpu1, 1200);
    CHECK(ledger.lead(kB) == 200);
  }
  SECTION("our pause") {
    ledger.switched_out(kB, kCpu1, 1000, false, true);
    ledger.switched_in(kB, kCpu1, 1200);
    CHECK(ledger.lead(kB) == 0);
  }
}

// At a wake-up v_i = t - lead_i never decreases by more than the waiter's own gain: the waiter
// continues at the later of its own arrival and the waker's time.
TEST_CASE("property: the wake rule is the maximum of two virtual times", "[causal][ledger]") {
  for (Nanoseconds mine = 0; mine <= 400; mine += 50) {
    for (Nanoseconds other = 0; other <= 400; other += 50) {
      for (Nanoseconds waited = 0; waited <= 600; waited += 75) {
        Ledger ledger = two_threads();
        ledger.earn(kB, mine);
        ledger.earn(kA, other);
        ledger.switched_out(kB, kCpu1, 1000, false, false);
        const Nanoseconds woken_at = 1000 + waited;
        ledger.woken(kB, kA, woken_at);
        const Nanoseconds expected = std::max(1000 - mine, woken_at - other);
        CHECK(woken_at - ledger.lead(kB) == expected);
      }
    }
  }
}

}  // namespace
}  // namespace causalctl::causal
