#include "controller/perf/merge.h"

#include <algorithm>
#include <utility>

namespace causalctl::perf {

void Merger::push(Event event) {
  keys_.push_back({time_of(event), events_.size()});
  events_.push_back(std::move(event));
}

std::vector<Event> Merger::take_until(Nanoseconds watermark_ns) {
  std::sort(keys_.begin(), keys_.end());  // keys are small; events themselves are expensive to move
  const auto later = std::find_if(keys_.begin(), keys_.end(),
                                  [&](const Key& key) { return key.time_ns > watermark_ns; });
  std::vector<Event> taken;
  taken.reserve(static_cast<std::size_t>(later - keys_.begin()));
  for (auto key = keys_.begin(); key != later; ++key) {
    taken.push_back(std::move(events_[key->arrival]));
  }
  std::vector<Event> kept;
  std::vector<Key> kept_keys;
  for (auto key = later; key != keys_.end(); ++key) {
    kept_keys.push_back({key->time_ns, kept.size()});
    kept.push_back(std::move(events_[key->arrival]));
  }
  events_ = std::move(kept);
  keys_ = std::move(kept_keys);
  return taken;
}

}  // namespace causalctl::perf
