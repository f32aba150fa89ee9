#include "controller/perf/uprobe_place.h"

#include <fmt/format.h>

#include <mutex>
#include <set>

#include "controller/base/error.h"
#include "controller/base/procfs.h"

namespace causalctl::perf {
namespace {

// perf_event_attr holds the path by pointer, and an event may be opened anew for each later thread,
// so the text must outlive every session. There are only as many texts as probed files.
const char* keep_forever(const std::string& text) {
  static std::mutex lock;
  static std::set<std::string> texts;
  const std::lock_guard guard(lock);
  return texts.insert(text).first->c_str();
}

std::uint32_t uprobe_type() {
  const auto type = procfs::read_number("/sys/bus/event_source/devices/uprobe/type");
  if (!type) {
    throw Error("this kernel has no uprobe events (/sys/bus/event_source/devices/uprobe)",
                "needs Linux 4.17 with CONFIG_UPROBE_EVENTS");
  }
  return static_cast<std::uint32_t>(*type);
}

}  // namespace

perf_event_attr uprobe_attr(const UprobePlace& place) {
  constexpr int half = 32;  // the format says that ref_ctr_offset is config:32-63
  if (place.semaphore_offset >> half != 0) {
    throw Error(fmt::format("the semaphore of a probe is beyond 4 GB in {}", place.path));
  }
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = uprobe_type();
  attr.config = place.semaphore_offset << half;
  attr.uprobe_path = reinterpret_cast<std::uint64_t>(keep_forever(place.path));
  attr.probe_offset = place.offset;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  return attr;
}

}  // namespace causalctl::perf
