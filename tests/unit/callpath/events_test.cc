#include <catch2/catch.hpp>

#include "controller/base/error.h"
#include "controller/callpath/record/event_spec.h"
#include "controller/callpath/run/event_cost.h"
#include "controller/callpath/run/watched_events.h"

namespace causalctl::callpath {
namespace {

using Kind = EventSpec::Kind;

perf::SampleEvent sample_with(std::uint64_t events, std::int64_t number, std::uint64_t rdi) {
  perf::SampleEvent sample;
  sample.events = events;
  sample.number = number;
  sample.user.mask = 1U << 5U;
  sample.user.registers = {rdi};
  return sample;
}

std::uint64_t value(const char* spec, const perf::SampleEvent& sample) {
  WatchedEvent event;
  event.spec = parse_event(spec);
  return amount_of(event, sample);
}

}  // namespace

TEST_CASE("what --event may name", "[callpath]") {
  CHECK(parse_event("page-faults").kind == Kind::page_faults);
  CHECK(parse_event("cycles").kind == Kind::cycles);
  const EventSpec calls = parse_event("syscall:write");
  CHECK((calls.kind == Kind::system_call && calls.name == "write" && !calls.bytes));
  const EventSpec bytes = parse_event("syscall:write:bytes");
  CHECK((bytes.name == "write" && bytes.bytes));
  const EventSpec function = parse_event("uprobe:libc.so.6:malloc:rdi");
  REQUIRE(function.argument);
  CHECK((function.name == "libc.so.6:malloc" && function.argument->bit == 5));
  CHECK(parse_event("uprobe:f:r9d").argument->bits == 32);
  // A name in C++ has colons of its own.
  CHECK(parse_event("uprobe:ns::rdi").name == "ns::rdi");
  CHECK_FALSE(parse_event("uprobe:ns::rdi").argument);
  CHECK(parse_event("uprobe:malloc:rdj").name == "malloc:rdj");
  for (const char* bad : {"", "page", "syscall:", "syscall::bytes", "uprobe:", "cpu2"}) {
    CHECK_THROWS_AS(parse_event(bad), UsageError);
  }
}

TEST_CASE("what --count may name", "[callpath]") {
  const EventSpec spec = parse_count("ns::f");
  CHECK((spec.kind == Kind::function && spec.counted && spec.name == "ns::f" && !spec.argument));
  CHECK(spec.option() == "--count ns::f");
  CHECK(parse_event("cycles").option() == "--event cycles");
  CHECK_THROWS_AS(parse_count(""), UsageError);
}

TEST_CASE("what a sample of an event adds", "[callpath]") {
  CHECK(value("page-faults", sample_with(7, 3, 100)) == 7);
  CHECK(value("syscall:write", sample_with(7, 3, 100)) == 7);
  CHECK(value("syscall:write:bytes", sample_with(7, 3, 100)) == 21);
  CHECK(value("syscall:write:bytes", sample_with(7, -11, 100)) == 0);
  CHECK(value("uprobe:malloc:rdi", sample_with(7, 3, 100)) == 700);
  CHECK(value("uprobe:f:edi", sample_with(2, 0, 0xdead'0000'0005)) == 10);
  CHECK(value("uprobe:malloc:rdi", sample_with(7, 0, UINT64_MAX)) == 0);
  CHECK(value("uprobe:malloc:rdi", sample_with(1000, 0, INT64_MAX)) == UINT64_MAX);
}

TEST_CASE("rare events are never interrupted, and dear ones come in bursts", "[callpath]") {
  Thinning rare(35'000, 0.03, 1);
  Thinning dear(35'000, 0.03, 1);
  Thinning free(0, 0.03, 1);
  Nanoseconds spent_ns = 0;
  bool open = true;
  for (Nanoseconds time_ns = 2 * kMillisecond; time_ns < 20 * kSecond;
       time_ns += 2 * kMillisecond) {
    CHECK(rare.step(time_ns / kMillisecond % 4 == 0 ? 3 : 0, time_ns).is_open);  // 750 in a second
    CHECK(free.step(100'000, time_ns).is_open);
    const std::uint64_t hits = open ? 40 : 0;  // 20,000 in a second
    spent_ns += static_cast<Nanoseconds>(hits) * 35'000;
    open = dear.step(hits, time_ns).is_open;
  }
  CHECK_FALSE(rare.was_interrupted());
  CHECK(rare.next_ns() == Thinning::kNever);
  CHECK(dear.was_interrupted());
  CHECK(static_cast<double>(spent_ns) / (20 * kSecond) < 0.033);
  CHECK(dear.open_share() == Approx(0.03 / 0.7).margin(0.01));
  CHECK(dear.hits_per_second() == Approx(20'000).epsilon(0.01));
  CHECK(dear.estimated_per_second() == Approx(20'000).epsilon(0.01));
}

TEST_CASE("a piece of a stratum ends by its time alone, and begins when it may", "[callpath]") {
  Thinning thinning(35'000, 0.03, 7);
  CHECK_FALSE(thinning.step(10'000, 9 * kMillisecond).ended);
  Thinning::Step step = thinning.step(0, 10 * kMillisecond);
  CHECK(step.ended);
  CHECK(step.rest_ns == 0);
  CHECK(step.cost_share == Approx(35));
  CHECK_FALSE(step.is_open);
  Nanoseconds begin_ns = thinning.next_ns();
  CHECK(begin_ns > 10 * kMillisecond);
  CHECK(begin_ns < 13 * kSecond);  // 350 ms are owed
  CHECK_FALSE(thinning.step(0, begin_ns - 1).began);
  CHECK_FALSE(thinning.step(0, begin_ns, false).is_open);
  begin_ns += 30 * kMillisecond;
  step = thinning.step(0, begin_ns, true);
  CHECK(step.began);
  CHECK(step.is_open);
  CHECK(thinning.next_ns() == begin_ns + Thinning::kPiece);
  begin_ns += 7 * kMillisecond;
  thinning.begin_piece(begin_ns);  // opening took so long
  CHECK(thinning.next_ns() == begin_ns + Thinning::kPiece);
  CHECK_FALSE(thinning.step(0, begin_ns + 5 * kMillisecond).ended);
  CHECK(thinning.step(0, begin_ns + 12 * kMillisecond).ended);
}

}  // namespace causalctl::callpath
