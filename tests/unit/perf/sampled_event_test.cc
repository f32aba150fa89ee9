#include "controller/perf/sampled_event.h"

#include <catch2/catch.hpp>

namespace causalctl::perf {

TEST_CASE("an event's samples have what its values need", "[perf]") {
  EventTemplate event;
  event.attr.type = PERF_TYPE_TRACEPOINT;
  const auto plain = event_attr(event, 1024, 31);
  CHECK(plain.sample_period == 31);
  CHECK(plain.sample_stack_user == 1024);
  CHECK((plain.sample_type & PERF_SAMPLE_READ) != 0);
  CHECK((plain.sample_type & PERF_SAMPLE_RAW) == 0);
  event.number_offset = 16;
  CHECK((event_attr(event, 1024, 31).sample_type & PERF_SAMPLE_RAW) != 0);
}

}  // namespace causalctl::perf
