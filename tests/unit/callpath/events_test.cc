#include <catch2/catch.hpp>

#include "controller/base/error.h"
#include "controller/callpath/event_cost.h"
#include "controller/callpath/event_spec.h"
#include "controller/callpath/watched_events.h"

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
  CostBudget rare(35'000, 0.03);
  CostBudget dear(35'000, 0.03);
  CostBudget free(0, 0.03);
  Nanoseconds spent_ns = 0;
  bool open = true;
  for (Nanoseconds time_ns = 8 * kMillisecond; time_ns < 10 * kSecond;
       time_ns += 8 * kMillisecond) {
    CHECK(rare.may_go_on(6, time_ns));  // 750 in a second
    CHECK(free.may_go_on(100'000, time_ns));
    const std::uint64_t hits = open ? 160 : 0;  // 20,000 in a second
    spent_ns += static_cast<Nanoseconds>(hits) * 35'000;
    open = dear.may_go_on(hits, time_ns);
  }
  CHECK_FALSE(rare.was_interrupted());
  CHECK(dear.was_interrupted());
  CHECK(static_cast<double>(spent_ns) / (10 * kSecond) < 0.032);
  CHECK(dear.open_share() == Approx(0.03 / 0.7).margin(0.01));
  CHECK(dear.hits_per_second() == Approx(20'000).epsilon(0.01));
}

TEST_CASE("a burst begins when it may, and its rate is that of the time since", "[callpath]") {
  CostBudget budget(35'000, 0.03);
  CHECK_FALSE(budget.may_go_on(1000, 100 * kMillisecond));  // 35 ms of 100
  CHECK_FALSE(budget.may_go_on(0, 1100 * kMillisecond));    // over until 1,167 ms
  CHECK_FALSE(budget.may_go_on(0, 1200 * kMillisecond, false));
  CHECK(budget.may_go_on(0, 1300 * kMillisecond));
  CHECK_FALSE(budget.may_go_on(1000, 1400 * kMillisecond));
  CHECK(budget.hits_per_second() == Approx(10'000));
}

}  // namespace causalctl::callpath
