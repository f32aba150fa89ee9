// Calls of a real process that are counted by uprobes, which come and go.
#include "controller/callpath/run/counts.h"

#include <catch2/catch.hpp>
#include <vector>

#include "controller/base/clock.h"
#include "controller/progress/image.h"
#include "controller/progress/progress.h"
#include "tests/kernel/progress/probed.h"
#include "tests/kernel/progress/probed_child.h"

namespace causalctl::callpath {
namespace {

WatchedEvent counted_function(probed::Child& child) {
  unwind::Symbolizer symbolizer(child.pid());
  const auto point = progress::resolve("probed::function_1", child.pid(), symbolizer);
  const auto place = progress::file_place(child.pid(), point.places.at(0).address);
  REQUIRE(place);
  WatchedEvent event;
  event.metric.name = "count:function_1";
  event.spec.name = "function_1";
  event.spec.counted = true;
  perf::EventTemplate uprobe;
  uprobe.what = "uprobe";
  uprobe.place = perf::UprobePlace{place->readable, place->offset, 0, 0};
  uprobe.attr = perf::uprobe_attr(*uprobe.place);
  event.templates = {uprobe};
  return event;
}

}  // namespace

TEST_CASE("the time in which uprobes are opened is not one in which calls are counted",
          "[callpath][counts]") {
  probed::Child child;
  const std::vector<WatchedEvent> events{counted_function(child)};
  perf::SessionOptions options;
  options.wake_edges = options.peers = false;
  options.stack_bytes = 4096;
  options.events = events.front().templates;
  perf::Session session(child.pid(), options);
  REQUIRE(session.counts_all_threads(0));
  session.start();
  Recording recording;
  Counts counts(child.pid(), events, session, recording);
  const auto counted_ns = [&] {
    counts.update(monotonic_now(), {0.0});
    return recording.counts.at(0).counted_ns;
  };
  counts.start(monotonic_now());
  constexpr unsigned kHits = 40;
  constexpr int kTimes = 10;
  const Thinning::Step begins{.began = true}, ends{.is_open = false, .ended = true};
  child.hit(kHits);
  counts.take(0, ends);
  for (int i = 1; i < kTimes; ++i) {
    session.close_events(0);
    child.hit(kHits);  // while nothing counts them
    const Nanoseconds closed_ns = counted_ns();
    session.open_events(events.front().templates);
    const Nanoseconds opened_ns = monotonic_now();
    counts.take(0, begins);
    child.hit(kHits);
    counts.take(0, ends);
    CHECK(counted_ns() - closed_ns <= monotonic_now() - opened_ns);
    CHECK(counted_ns() > closed_ns);
  }
  CHECK(session.events_counted(0) == kTimes * kHits);
}

}  // namespace causalctl::callpath
