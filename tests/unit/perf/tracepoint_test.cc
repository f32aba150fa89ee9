#include "controller/perf/tracepoint.h"

#include <catch2/catch.hpp>

namespace causalctl::perf {

namespace {

constexpr auto kFormat = R"(name: sched_waking
ID: 375
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:char comm[16];	offset:8;	size:16;	signed:0;
	field:pid_t pid;	offset:24;	size:4;	signed:1;
	field:int prio;	offset:28;	size:4;	signed:1;
)";

}  // namespace

TEST_CASE("The tracepoint's layout is read from its format file", "[perf]") {
  const auto format = parse_waking_format(kFormat);
  REQUIRE(format);
  REQUIRE(format->id == 375);
  REQUIRE(format->flags_offset == 2);
  REQUIRE(format->waker_offset == 4);
  REQUIRE(format->woken_offset == 24);
  for (const std::string missing :
       {"ID:", "pid_t pid;", "common_flags", "common_pid", "offset:24"}) {
    std::string text = kFormat;
    text.replace(text.find(missing), missing.size(), "?");
    REQUIRE_FALSE(parse_waking_format(text));
  }
  std::string wide = kFormat;
  wide.replace(wide.find("size:4;\tsigned:1;\n\tfield:int prio"), 6, "size:8");
  REQUIRE_FALSE(parse_waking_format(wide));
  REQUIRE_FALSE(parse_waking_format(""));
}

TEST_CASE("A wake knows who, whom and from which context", "[perf]") {
  const auto format = *parse_waking_format(kFormat);
  std::vector<std::byte> raw(28);
  const Tid waker = 812, woken = 70'000;
  std::memcpy(raw.data() + 4, &waker, sizeof(waker));
  std::memcpy(raw.data() + 24, &woken, sizeof(woken));
  const auto context = [&](unsigned flags) {
    raw[2] = static_cast<std::byte>(flags);
    const auto waking = parse_waking(raw, format);
    REQUIRE(waking);
    REQUIRE(waking->waker == waker);
    REQUIRE(waking->woken == woken);
    return waking->context;
  };
  REQUIRE(context(0x00) == WakeContext::task);
  REQUIRE(context(0x01) == WakeContext::task);  // interrupts off
  REQUIRE(context(0x04) == WakeContext::task);  // reschedule pending
  REQUIRE(context(0x08) == WakeContext::hardirq);
  REQUIRE(context(0x10) == WakeContext::softirq);
  REQUIRE(context(0x18) == WakeContext::hardirq);
  for (std::size_t size = 0; size < raw.size(); ++size) {
    REQUIRE_FALSE(parse_waking(Bytes(raw).first(size), format));
  }
}

}  // namespace causalctl::perf
