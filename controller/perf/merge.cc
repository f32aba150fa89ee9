#include "controller/perf/merge.h"

#include <utility>

namespace causalctl::perf {

EventBatch Merger::take_until(Nanoseconds watermark_ns) {
  events_.sort();
  EventBatch later = events_.take_later_than(watermark_ns);
  return std::exchange(events_, std::move(later));
}

}  // namespace causalctl::perf
