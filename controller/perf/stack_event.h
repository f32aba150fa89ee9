// An event whose samples have stacks, with a ring of its own.
#pragma once

#include <linux/perf_event.h>

#include <functional>
#include <optional>

#include "controller/perf/event.h"
#include "controller/perf/ring.h"

namespace causalctl::perf {

struct StackEvent {
  EventFd event;  // it does not run yet
  Ring ring;
};

// Opens it by `open`, which must leave it disabled, with a ring of at most `pages`. If there is
// less memory the ring is smaller, and if the ring is small, stacks are: lost samples would be
// worse. Returns nullopt if `open` does. Throws Error if there is no memory at all.
std::optional<StackEvent> open_stack_event(
    perf_event_attr attr, unsigned pages,
    const std::function<std::optional<EventFd>(const perf_event_attr&)>& open);

}  // namespace causalctl::perf
