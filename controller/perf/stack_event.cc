#include "controller/perf/stack_event.h"

#include <algorithm>
#include <utility>

#include "controller/perf/ring_sizes.h"

namespace causalctl::perf {

std::optional<StackEvent> open_stack_event(
    perf_event_attr attr, unsigned pages,
    const std::function<std::optional<EventFd>(const perf_event_attr&)>& open) {
  std::size_t ring_bytes = pages * kPageBytes;
  for (;;) {
    attr.sample_stack_user = std::min(attr.sample_stack_user, most_stack_bytes(ring_bytes));
    auto event = open(attr);
    if (!event) return std::nullopt;
    Ring ring(event->map_ring(static_cast<unsigned>(ring_bytes / kPageBytes)));
    if (attr.sample_stack_user <= most_stack_bytes(ring.bytes())) {
      return StackEvent{std::move(*event), std::move(ring)};
    }
    ring_bytes = ring.bytes();
  }
}

}  // namespace causalctl::perf
