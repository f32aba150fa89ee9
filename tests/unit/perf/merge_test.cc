#include "controller/perf/merge.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <variant>
#include <vector>

namespace causalctl::perf {

namespace {

VisitEvent visit(Tid tid, Nanoseconds time_ns, std::uint32_t tag) {
  return {{tid, 1}, time_ns, tag};
}

// Any of the others, too, which are kept in other ways; the tag is in a field that it has.
Event event_with(const VisitEvent& visit) {
  switch (visit.thread.tid % 4) {
    case 0:
      return SwitchEvent{visit.thread, visit.time_ns, visit.tag};
    case 1:
      return WakeEvent{visit.thread, static_cast<Tid>(visit.tag), visit.time_ns};
    case 2:
      return NameEvent{visit.thread, visit.time_ns, std::to_string(visit.tag)};
    default:
      return visit;
  }
}

std::uint32_t tag_of(const Event& event) {
  if (const auto* change = std::get_if<SwitchEvent>(&event)) return change->cpu;
  if (const auto* wake = std::get_if<WakeEvent>(&event)) {
    return static_cast<std::uint32_t>(wake->woken);
  }
  if (const auto* name = std::get_if<NameEvent>(&event)) {
    return static_cast<std::uint32_t>(std::stoul(name->name));
  }
  return std::get<VisitEvent>(event).tag;
}

Tid tid_of(const Event& event) {
  if (const auto* wake = std::get_if<WakeEvent>(&event)) return wake->waker.tid;
  if (const auto* change = std::get_if<SwitchEvent>(&event)) return change->thread.tid;
  if (const auto* name = std::get_if<NameEvent>(&event)) return name->thread.tid;
  return std::get<VisitEvent>(event).thread.tid;
}

std::vector<Event> all_of(const EventBatch& batch) { return {batch.begin(), batch.end()}; }

}  // namespace

TEST_CASE("What is younger than the watermark waits", "[perf]") {
  Merger merger;
  merger.push(visit(1, 10, 0));
  merger.push(visit(1, 30, 1));
  merger.push(visit(2, 20, 2));
  merger.push(visit(2, 31, 3));
  auto taken = all_of(merger.take_until(30));
  REQUIRE(taken.size() == 3);
  REQUIRE(tag_of(taken[0]) == 0);
  REQUIRE(tag_of(taken[1]) == 2);
  REQUIRE(tag_of(taken[2]) == 1);
  REQUIRE(merger.take_until(30).empty());
  merger.push(visit(1, 25, 4));  // late: out of order, but not lost
  taken = all_of(merger.take_until(40));
  REQUIRE(taken.size() == 2);
  REQUIRE(tag_of(taken[0]) == 4);
  REQUIRE(tag_of(taken[1]) == 3);
  REQUIRE(merger.pending() == 0);
}

TEST_CASE("Events of the same time stay in the order of their arrival", "[perf]") {
  Merger merger;
  for (std::uint32_t i = 0; i < 50; ++i) merger.push(visit(1, i < 25 ? 7 : 8, i));
  const auto taken = all_of(merger.take_until(8));
  for (std::uint32_t i = 0; i < 50; ++i) REQUIRE(tag_of(taken[i]) == i);
}

TEST_CASE("Any interleaving of rings and drains gives each event once, in order", "[perf]") {
  const auto seed = GENERATE(range(0U, 50U));
  std::mt19937 random(seed);
  const std::size_t rings = 1 + random() % 8;
  std::vector<std::vector<VisitEvent>> streams(rings);
  std::uint32_t tags = 0;
  for (std::size_t ring = 0; ring < rings; ++ring) {
    Nanoseconds time_ns = 0;
    for (unsigned i = random() % 200; i > 0; --i) {
      time_ns += random() % 3;  // equal times occur
      streams[ring].push_back(visit(static_cast<Tid>(ring), time_ns, tags++));
    }
  }
  Merger merger;
  std::vector<Event> all;
  std::vector<std::size_t> position(rings, 0);
  for (Nanoseconds now = 0; now <= 600; now += random() % 20) {
    for (std::size_t ring = 0; ring < rings; ++ring) {
      // A ring is read up to some time at or after `now`, because it is read after `now` was taken.
      const Nanoseconds until = now + random() % 10;
      auto& next = position[ring];
      while (next < streams[ring].size() && streams[ring][next].time_ns <= until) {
        std::visit([&](auto each) { merger.push(std::move(each)); },
                   event_with(streams[ring][next++]));
      }
    }
    for (const Event& event : merger.take_until(now)) {
      REQUIRE(time_of(event) <= now);
      all.push_back(event);
    }
  }
  REQUIRE(all.size() == tags);
  REQUIRE(std::is_sorted(all.begin(), all.end(), [](const Event& left, const Event& right) {
    return time_of(left) < time_of(right);
  }));
  std::vector<std::int64_t> last_tag(rings, -1);
  for (const auto& event : all) {
    auto& last = last_tag[static_cast<std::size_t>(tid_of(event))];
    REQUIRE(tag_of(event) > last);  // the order within a ring is kept
    last = tag_of(event);
  }
}

}  // namespace causalctl::perf
