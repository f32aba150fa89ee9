#include "controller/callpath/engine/wakers.h"

#include <catch2/catch.hpp>

namespace causalctl::callpath {
namespace {

constexpr WakersWithoutPath kNodes{100, 101, 102, 103};

Wait wait_of(std::optional<NodeId> path, Nanoseconds blocked_ns, Waker waker,
             std::optional<NodeId> waker_path = std::nullopt) {
  Wait wait;
  wait.path = path;
  wait.whole_blocked_ns = blocked_ns;
  wait.waker = waker;
  wait.waker_path = waker_path;
  return wait;
}

}  // namespace

TEST_CASE("wakers are told apart, inside of the process and outside", "[callpath]") {
  Wakers wakers;
  wakers.add(wait_of(1, 10, Waker::thread, 7));
  wakers.add(wait_of(1, 20, Waker::thread, 8));
  wakers.add(wait_of(1, 30, Waker::unseen));
  wakers.add(wait_of(1, 40, Waker::interrupt, 7));  // what ran there did not wake it
  wakers.add(wait_of(2, 0, Waker::unseen));         // it was preempted
  Wait going_on = wait_of(1, 50, Waker::unseen);
  going_on.over = going_on.is_woken = false;
  wakers.add(going_on);
  CHECK(wakers.take(kNodes) ==
        WakerSums{{{1, 7}, 10}, {{1, 8}, 20}, {{1, 100}, 30}, {{1, 101}, 40}, {{1, 103}, 50}});
  CHECK(wakers.take(kNodes).empty());
}

TEST_CASE("what was not sampled is like what was", "[callpath]") {
  Wakers wakers;
  wakers.add(wait_of(1, 10, Waker::thread, 7));
  wakers.add(wait_of(1, 30, Waker::thread, 8));
  wakers.add(wait_of(1, 40, Waker::thread));
  wakers.add(wait_of(2, 20, Waker::thread));  // no waker of this path is known
  wakers.add(wait_of(std::nullopt, 100, Waker::thread, 9));
  CHECK(wakers.take(kNodes) == WakerSums{{{1, 7}, 40}, {{1, 8}, 120}, {{2, 102}, 40}});
}

TEST_CASE("waits without a path stand alone if all are so", "[callpath]") {
  Wakers wakers;
  wakers.add(wait_of(std::nullopt, 100, Waker::thread, 9));
  wakers.add(wait_of(std::nullopt, 50, Waker::unseen));
  CHECK(wakers.take(kNodes) == WakerSums{{{kRoot, 9}, 100}, {{kRoot, 100}, 50}});
  CHECK(wakers.take(kNodes).empty());
}

}  // namespace causalctl::callpath
