#include "controller/callpath/engine/waits.h"

#include <catch2/catch.hpp>
#include <random>

#include "controller/callpath/record/shares.h"
#include "tests/unit/callpath/threads.h"

namespace causalctl {

using callpath::NodeId;
using callpath::Waits;
using callpath::WaitSums;
using callpath::test::kOne;
using callpath::test::kTwo;

namespace {

Nanoseconds sum(const callpath::ThreadTimes& times) {
  return times.on_core_ns + times.blocked_ns + times.runnable_ns;
}

}  // namespace

TEST_CASE("a wait is for something until the wake-up, then for a core", "[callpath]") {
  Waits waits;
  waits.begin(kOne, 1000, false);
  waits.leaving(kOne, {7});
  waits.leave(kOne, 1500, false);
  waits.wake(kOne.tid, 1800);
  waits.wake(kOne.tid, 1900);  // once more
  const auto wait = waits.come(kOne, 2100);
  REQUIRE(wait);
  CHECK(wait->path == NodeId{7});
  CHECK(wait->blocked_ns == 300);
  CHECK(wait->runnable_ns == 300);
  CHECK(wait->over);
  CHECK(waits.times(kOne).on_core_ns == 500);
}

// A thread that goes to sleep can be woken before the record that it leaves its core.
TEST_CASE("a thread that was woken just before it left its core waits for a core", "[callpath]") {
  Waits waits;
  waits.begin(kOne, 0, false);
  waits.wake(kOne.tid, 100'000);
  waits.leaving(kOne, {7});
  waits.leave(kOne, 101'000, false);
  SECTION("nothing else wakes it") {
    const auto wait = waits.come(kOne, 111'000);
    REQUIRE(wait);
    CHECK(wait->blocked_ns == 0);
    CHECK(wait->runnable_ns == 10'000);
    CHECK(wait->waker == callpath::Waker::thread);
    CHECK(sum(waits.times(kOne)) == 111'000);
    // It says nothing of the next wait.
    waits.leave(kOne, 112'000, false);
    CHECK(waits.come(kOne, 212'000)->blocked_ns == 100'000);
  }
  SECTION("it is woken once more, so it had been awake before it slept") {
    waits.wake(kOne.tid, 201'000);
    const auto wait = waits.come(kOne, 301'000);
    CHECK(wait->blocked_ns == 100'000);
    CHECK(wait->runnable_ns == 100'000);
  }
  SECTION("it comes back late: something unseen has woken it") {
    const auto wait = waits.come(kOne, 5 * kMillisecond);
    CHECK(wait->blocked_ns == 5 * kMillisecond - 101'000);
    CHECK(wait->waker == callpath::Waker::unseen);
  }
  SECTION("a part of the wait was told already") {
    waits.cut(151'000);
    CHECK(waits.come(kOne, 201'000)->blocked_ns == 50'000);
  }
  SECTION("an earlier wake-up is none of it") {
    waits.come(kOne, 301'000);
    waits.wake(kOne.tid, 302'000);
    waits.leave(kOne, 402'000, false);
    const auto wait = waits.come(kOne, 502'000);
    CHECK(wait->blocked_ns == 100'000);
    CHECK(wait->waker == callpath::Waker::unseen);
  }
}

TEST_CASE("a wait that began before has the path that was read then", "[callpath]") {
  Waits waits;
  waits.begin(kOne, 0, true);
  waits.stands_on(kOne, 7, true, 50);
  const auto wait = waits.come(kOne, 100);
  REQUIRE(wait);
  CHECK((wait->path == 7 && wait->is_complete && wait->blocked_ns == 100));
  // The next one is another.
  waits.leave(kOne, 200, false);
  waits.stands_on(kOne, 7, true, 150);
  CHECK_FALSE(waits.come(kOne, 300)->path);
  waits.begin(kOne, 0, false);
  waits.stands_on(kOne, 7, true, 50);
  waits.leave(kOne, 200, false);
  CHECK_FALSE(waits.come(kOne, 300)->path);
}

TEST_CASE("a process that is stopped stands still from where its threads left", "[callpath]") {
  using session::Halt;
  Waits waits;
  waits.begin(kOne, 0, false);
  waits.begin(kTwo, 0, false);
  waits.leave(kTwo, 100, false);  // it waits for something
  waits.look(Halt::none, 0, 1000);
  waits.leaving(kOne, {7});
  waits.leave(kOne, 1500, false);
  waits.look(Halt::stopped, 1000, 2000);
  const auto cut = waits.cut(3000);
  REQUIRE(cut.size() == 2);
  for (const auto& wait : cut) {
    const bool one = wait.thread == kOne;
    CHECK(wait.path.has_value() == one);
    CHECK(wait.stopped_ns == (one ? 1500 : 1000));
    CHECK(wait.blocked_ns == (one ? 0 : 1900));
  }
  CHECK(waits.times(kOne).blocked_ns == 0);
  // It goes on: until it comes to a core, it waits for one.
  waits.look(Halt::none, 3500, 4000);
  const auto wait = waits.come(kOne, 4100);
  REQUIRE(wait);
  CHECK(wait->stopped_ns == 1000);
  CHECK(wait->runnable_ns == 100);
  waits.leave(kOne, 4200, false);
  CHECK(waits.come(kOne, 4300)->blocked_ns == 100);
}

TEST_CASE("a frozen thread that was blocked is so again", "[callpath]") {
  using session::Halt;
  Waits waits;
  waits.begin(kOne, 0, true);
  waits.look(Halt::none, 0, 1000);
  waits.look(Halt::frozen, 1000, 2000);
  waits.look(Halt::none, 2000, 5000);
  const auto wait = waits.come(kOne, 5500);
  REQUIRE(wait);
  CHECK(wait->blocked_ns == 2500);
  CHECK(wait->frozen_ns == 3000);
}

TEST_CASE("a process may have been stopped before it was seen", "[callpath]") {
  Waits waits;
  waits.start(100);
  waits.begin(kOne, 50, false);  // its state is neither running nor blocked
  waits.look(session::Halt::stopped, 0, 200);
  waits.stands_on(kOne, 7, true, 200);
  const auto cut = waits.cut(1100);
  REQUIRE(cut.size() == 1);
  CHECK((cut[0].path == 7 && cut[0].stopped_ns == 1000 && cut[0].blocked_ns == 0));
  CHECK(waits.times(kOne).on_core_ns == 0);
}

TEST_CASE("where a halted thread stands is read if its switch was not sampled", "[callpath]") {
  using session::Halt;
  Waits waits;
  waits.begin(kOne, 0, false);
  waits.begin(kTwo, 0, false);
  waits.look(Halt::none, 0, 1000);
  CHECK(waits.without_path(9, 0).empty());
  waits.leave(kOne, 1500, false);
  waits.leaving(kTwo, {8});
  waits.leave(kTwo, 1500, false);
  waits.look(Halt::stopped, 1000, 2000);
  CHECK(waits.without_path(9, 0) == std::vector{kOne});
  CHECK(waits.without_path(9, 0).empty());  // it is asked for once
  waits.stands_on(kOne, 7, true, 2100);
  waits.stands_on(kTwo, 7, true, 2100);  // where that one stands is known
  for (const auto& wait : waits.cut(3000)) {
    CHECK((wait.path == (wait.thread == kOne ? NodeId{7} : NodeId{8}) && wait.stopped_ns == 1500));
  }
  CHECK(waits.without_path(9, 0).empty());
}

TEST_CASE("what is read of a halted thread is void once it has moved on", "[callpath]") {
  using session::Halt;
  Waits waits;
  waits.begin(kOne, 0, false);
  waits.look(Halt::none, 0, 1000);
  waits.leave(kOne, 1500, false);
  waits.look(Halt::stopped, 1000, 2000);
  REQUIRE(waits.without_path(9, 0).size() == 1);
  waits.come(kOne, 2200);
  waits.leave(kOne, 2300, false);
  waits.stands_on(kOne, 7, true, 2100);
  const auto cut = waits.cut(2400);
  REQUIRE(cut.size() == 1);
  CHECK((!cut[0].path && cut[0].blocked_ns == 100 && cut[0].stopped_ns == 0));
}

TEST_CASE("a thread stands still whose last records before the halt are lost", "[callpath]") {
  using session::Halt;
  const bool woken = GENERATE(false, true);
  Waits waits;
  waits.begin(kOne, 0, false);
  waits.leaving(kOne, {5});
  waits.leave(kOne, 600, false);
  waits.look(Halt::none, 0, 1000);
  if (woken) {
    waits.wake(kOne.tid, 1400);  // that it came to a core and left it again is lost
  } else {
    waits.come(kOne, 1400);
    waits.leaving(kOne, {6});  // the switch of this sample is lost
  }
  waits.look(Halt::stopped, 1000, 2000);
  CHECK(waits.without_path(9, 0).empty());  // the record may be still to come
  waits.look(Halt::stopped, 2000, 3000);
  REQUIRE(waits.without_path(9, 0) == std::vector{kOne});
  const auto over = waits.stands_on(kOne, 7, true, 3100);
  REQUIRE(over.has_value() == woken);
  if (woken) CHECK((over->path == NodeId{5} && over->runnable_ns == 1700 && over->over));
  const auto cut = waits.cut(5000);
  REQUIRE(cut.size() == 1);
  CHECK((cut[0].path == NodeId{7} && cut[0].blocked_ns == 0 && cut[0].runnable_ns == 0));
  CHECK(cut[0].stopped_ns == (woken ? 1900 : 3600));
  // The lost switch's path is not that of the next one.
  waits.look(Halt::none, 5000, 6000);
  waits.come(kOne, 6100);
  waits.leave(kOne, 6200, false);
  CHECK_FALSE(waits.come(kOne, 6300)->path);
}

TEST_CASE("a preempted thread waits for a core", "[callpath]") {
  Waits waits;
  waits.begin(kOne, 0, false);
  waits.leave(kOne, 100, true);
  waits.wake(kOne.tid, 150);
  const auto wait = waits.come(kOne, 400);
  REQUIRE(wait);
  CHECK(wait->blocked_ns == 0);
  CHECK(wait->runnable_ns == 300);
  CHECK_FALSE(wait->path);
}

TEST_CASE("a path belongs to the next switch only", "[callpath]") {
  Waits waits;
  waits.begin(kOne, 0, false);
  waits.leaving(kOne, {7});
  waits.leave(kOne, 10, false);
  CHECK(waits.come(kOne, 20)->path == NodeId{7});
  waits.leave(kOne, 30, false);
  CHECK_FALSE(waits.come(kOne, 40)->path);
}

TEST_CASE("a halt between two looks is told by where the thread left its core", "[callpath]") {
  using session::Halt;
  constexpr Nanoseconds ms = kMillisecond;
  Waits waits;
  waits.begin(kOne, 0, false);
  waits.look(Halt::none, 0, 8 * ms);
  const auto leave_and_come = [&](Nanoseconds from_ns, bool preempted, bool in_call) {
    waits.leaving(kOne, {7, true, in_call});
    waits.leave(kOne, from_ns, preempted);
    return waits.come(kOne, from_ns + 2 * ms).value();
  };
  CHECK(leave_and_come(9 * ms, false, false).blocked_ns == 2 * ms);  // it waits for a page
  waits.leaving(kOne, {7, true, false});
  waits.leave(kOne, 15 * ms, false);
  waits.look(Halt::stopped, 8 * ms, 16 * ms);
  CHECK(waits.come(kOne, 18 * ms)->stopped_ns == 3 * ms);
  CHECK(leave_and_come(19 * ms, false, false).stopped_ns == 2 * ms);
  CHECK(leave_and_come(22 * ms, false, true).blocked_ns == 2 * ms);
  waits.look(Halt::none, 16 * ms, 25 * ms);
  CHECK(leave_and_come(26 * ms, false, false).stopped_ns == 2 * ms);
  CHECK(leave_and_come(29 * ms, true, false).runnable_ns == 2 * ms);
  waits.leaving(kOne, {7, true, false});
  waits.leave(kOne, 32 * ms, false);
  waits.look(Halt::none, 25 * ms, 33 * ms);  // it goes on, and waits for a core
  const auto wait = waits.come(kOne, 34 * ms);
  CHECK((wait->stopped_ns == ms && wait->runnable_ns == ms));
  waits.look(Halt::none, 33 * ms, 2000 * ms);
  CHECK(leave_and_come(2001 * ms, false, false).blocked_ns == 2 * ms);
}

TEST_CASE("where a thread has blocked for long is asked for once, if it is not known",
          "[callpath]") {
  Waits waits;
  waits.begin(kOne, 0, true);
  waits.begin(kTwo, 0, false);
  waits.leaving(kTwo, {7});
  waits.leave(kTwo, 10, false);
  CHECK(waits.without_path(9, kMillisecond).empty());
  CHECK(waits.without_path(9, 100 * kMillisecond) == std::vector{kOne});
  waits.cut(200 * kMillisecond);
  CHECK(waits.without_path(9, 300 * kMillisecond).empty());  // its stack could not be read
  waits.come(kOne, 400 * kMillisecond);
  waits.leave(kOne, 401 * kMillisecond, false);  // another wait
  CHECK(waits.without_path(9, 500 * kMillisecond) == std::vector{kOne});
  CHECK_FALSE(waits.stands_on(kOne, 5, true, 500 * kMillisecond));
  const auto wait = waits.come(kOne, 601 * kMillisecond);
  REQUIRE(wait);
  CHECK((wait->path == NodeId{5} && wait->blocked_ns == 200 * kMillisecond));
}

TEST_CASE("a long wait is counted in parts, under its path", "[callpath]") {
  Waits waits;
  waits.begin(kOne, 0, false);
  waits.begin(kTwo, 0, true);
  waits.leaving(kOne, {7});
  waits.leave(kOne, 10, false);
  const auto parts = waits.cut(1010);
  REQUIRE(parts.size() == 2);
  for (const auto& part : parts) {
    CHECK_FALSE(part.over);
    if (part.thread == kOne) CHECK(part.blocked_ns == 1000);
    if (part.thread == kTwo) CHECK(part.blocked_ns == 1010);
  }
  const auto rest = waits.runs(kOne, 1500);
  REQUIRE(rest);
  CHECK(rest->path == NodeId{7});
  CHECK(rest->blocked_ns == 490);
  waits.end(kOne);
  CHECK_FALSE(waits.come(kOne, 1600));
}

TEST_CASE("a number that is used again is another thread", "[callpath]") {
  Waits waits;
  waits.begin(kOne, 0, false);
  waits.begin({kOne.tid, 9}, 50, false);
  waits.leave(kOne, 60, false);  // a late record of the first one
  CHECK_FALSE(waits.runs({kOne.tid, 9}, 70));
}

TEST_CASE("a thread that comes to a core was not on one", "[callpath]") {
  Waits waits;
  waits.begin(kOne, 0, false);  // it waits for a core, or is stopped
  waits.cut(50);
  const auto first = waits.come(kOne, 100);
  REQUIRE(first);
  CHECK((first->runnable_ns == 100 && first->blocked_ns == 0));
  CHECK(waits.take_on_core(kOne, false) == 0);
  waits.runs(kOne, 130);
  waits.cut(150);  // the record of its leaving is lost
  const auto second = waits.come(kOne, 230);
  REQUIRE(second);
  CHECK((second->runnable_ns == 0 && second->blocked_ns == 100));
  CHECK(second->whole_blocked_ns == 100);
  CHECK_FALSE(second->path);
  CHECK(waits.take_on_core(kOne, false) == 30);
  CHECK(sum(waits.times(kOne)) == 230);
  waits.cut(300);
  CHECK(waits.take_on_core(kOne, false) == 0);
  CHECK(waits.take_on_core(kOne, true) == 70);
}

TEST_CASE("times of a thread add up to its life, whatever comes", "[callpath]") {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    Waits waits;
    Nanoseconds now = 1000;
    waits.begin(kOne, now, random() % 2 == 0);
    Nanoseconds waited = 0;
    for (int i = 0; i < 100; ++i) {
      now += random() % 100;
      const auto add = [&](const callpath::Wait& wait) {
        waited += wait.blocked_ns + wait.runnable_ns;
      };
      switch (random() % 4) {
        case 0:
          waits.leave(kOne, now, random() % 2 == 0);
          break;
        case 1:
          waits.wake(kOne.tid, now);
          break;
        case 2:
          if (const auto wait = waits.come(kOne, now)) add(*wait);
          break;
        default:
          for (const auto& wait : waits.cut(now)) add(wait);
      }
    }
    for (const auto& wait : waits.cut(now)) waited += wait.blocked_ns + wait.runnable_ns;
    const auto& times = waits.times(kOne);
    REQUIRE(sum(times) == now - 1000);
    REQUIRE(waited == times.blocked_ns + times.runnable_ns);
  }
}

TEST_CASE("what is divided adds up, in proportion to the weights", "[callpath]") {
  CHECK(callpath::divided(10, {1, 1, 2}) == std::vector<std::uint64_t>{2, 3, 5});
  CHECK(callpath::divided(10, {0, 0}) == std::vector<std::uint64_t>{10, 0});
  CHECK(callpath::divided(0, {3, 4}) == std::vector<std::uint64_t>{0, 0});
  std::mt19937_64 random(5);
  for (int round = 0; round < 1000; ++round) {
    std::vector<std::uint64_t> weights(1 + random() % 20);
    for (auto& weight : weights) weight = random() % 1'000'000'000;
    const std::uint64_t all = random() >> (1 + random() % 60);
    const auto parts = callpath::divided(all, weights);
    std::uint64_t total = 0;
    for (const auto part : parts) total += part;
    REQUIRE(total == all);
  }
}

TEST_CASE("a long wait is not where the last short one was in the kernel", "[callpath]") {
  Waits waits;
  waits.begin(kOne, 0, false);
  constexpr NodeId user = 7, kernel = 8, elsewhere = 9;
  const Waits::Left left{kernel, true, true, user};
  waits.leaving(kOne, left, 5);
  waits.leave(kOne, 100, false, 5);
  CHECK(waits.come(kOne, 200)->path == kernel);
  waits.leave(kOne, 300, false, 5);
  CHECK(waits.come(kOne, 400 + kMillisecond)->path == kernel);  // nothing else was seen there
  waits = {};
  waits.begin(kOne, 0, false);
  waits.leaving(kOne, {elsewhere, true, true, user}, 5);
  waits.leave(kOne, 100, false, 5);
  CHECK(waits.come(kOne, 200)->path == elsewhere);
  waits.leaving(kOne, left, 5);
  waits.leave(kOne, 1000, false, 5);
  CHECK(waits.come(kOne, 2000 + 2 * kMillisecond)->path == kernel);  // its own
  Nanoseconds now_ns = 3 * kMillisecond;
  waits.leave(kOne, now_ns, false, 5);
  CHECK(waits.come(kOne, now_ns + 1000)->path == kernel);
  now_ns += 2000;
  waits.leave(kOne, now_ns, false, 5);
  const auto parts = waits.cut(now_ns + kMillisecond / 2);
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].path == kernel);
  CHECK(waits.come(kOne, now_ns + 2 * kMillisecond)->path == user);
  now_ns += 3 * kMillisecond;
  waits.leaving(kOne, left, 5);
  waits.leave(kOne, now_ns, false, 5);
  CHECK(waits.come(kOne, now_ns + 2 * kMillisecond)->path == kernel);
}

TEST_CASE("a switch that is not sampled has the path of the last one at its place", "[callpath]") {
  Waits waits;
  waits.begin(kOne, 0, false);
  const auto path_at = [&](Nanoseconds time_ns, std::uint16_t place) {
    waits.leave(kOne, time_ns, false, place);
    return waits.come(kOne, time_ns + 10).value().path;
  };
  CHECK_FALSE(path_at(100, 4));
  waits.leaving(kOne, {7}, 4);
  CHECK(path_at(200, 4) == 7);
  CHECK(path_at(300, 4) == 7);
  CHECK_FALSE(path_at(400, 5));
  CHECK_FALSE(path_at(500, 0));
  waits.leaving(kOne, {8, false}, 5);
  CHECK(path_at(600, 5) == 8);
  CHECK(path_at(700, 4) == 7);
  waits.leave(kOne, 800, false, 5);
  CHECK_FALSE(waits.come(kOne, 810).value().is_complete);
  waits.begin(kOne, 900, false);  // another thread with this number
  CHECK_FALSE(path_at(1000, 4));
}

TEST_CASE("waits that were not sampled go to those that were, or to the root", "[callpath]") {
  std::map<NodeId, WaitSums> sampled{{3, {100, 0, 1}}, {4, {300, 50, 1}}};
  callpath::share_out({4000, 100, 8}, sampled);
  CHECK(sampled[3].blocked_ns == 1100);
  CHECK(sampled[4].blocked_ns == 3300);
  CHECK(sampled[4].runnable_ns == 150);
  CHECK(sampled[3].waits == 5);
  std::map<NodeId, WaitSums> none;
  callpath::share_out({4000, 100, 8}, none);
  CHECK(none.at(callpath::kRoot).blocked_ns == 4000);
}

TEST_CASE("of a halt whose path is not known, nothing goes to others", "[callpath]") {
  std::map<NodeId, WaitSums> sampled{{3, {100, 0, 1, 50, 60}}};
  callpath::share_out({10, 0, 1, 7, 8}, sampled);
  CHECK(sampled[3] == WaitSums{110, 0, 2, 50, 60});
  CHECK(sampled[callpath::kRoot] == WaitSums{0, 0, 0, 7, 8});
}

}  // namespace causalctl
