#include "controller/callpath/mappings.h"

#include <utility>
#include <variant>

#include "controller/base/clock.h"

namespace causalctl::callpath {
namespace {

constexpr Nanoseconds kReadEvery = kSecond;  // at most

procfs::Map line_of(const perf::MapEvent& event) {
  procfs::Map line;
  line.start = event.start;
  line.end = event.start + event.length;
  line.readable = line.executable = true;
  line.offset = event.file_offset;
  line.device = event.device;
  line.inode = event.inode;
  if (event.inode != 0) line.path = event.path;
  return line;
}

}  // namespace

void Mappings::read() {
  Snapshot fresh;
  fresh.begin_ns = monotonic_now();
  auto maps = procfs::maps(target_);
  fresh.end_ns = monotonic_now();
  if (!maps || maps->empty()) return;  // the target is gone
  fresh.maps = std::move(*maps);
  snapshot_ = std::move(fresh);
  is_due_ = false;
}

void Mappings::lost(std::uint64_t records, Nanoseconds now_ns) {
  is_due_ = is_due_ || records != lost_;
  lost_ = records;
  if (!is_due_ || now_ns < next_ns_) return;
  next_ns_ = now_ns + kReadEvery;
  read();
}

void Mappings::take(const perf::Event& event) {
  const Nanoseconds time_ns = perf::time_of(event);
  const auto* map = std::get_if<perf::MapEvent>(&event);
  if (snapshot_ && map != nullptr && time_ns >= snapshot_->begin_ns &&
      time_ns <= snapshot_->end_ns) {
    snapshot_.reset();  // it may have this mapping, or not
    is_due_ = true;
  }
  if (snapshot_ && time_ns > snapshot_->end_ns) {
    places_.take(snapshot_->maps);
    unwinder_.refresh(std::move(snapshot_->maps));
    snapshot_.reset();
  }
  if (map != nullptr) {
    places_.mapped(*map);
    unwinder_.mapped(line_of(*map));
  } else if (std::holds_alternative<perf::ExecEvent>(event)) {
    places_.read_again();
    unwinder_.refresh();
    snapshot_.reset();
  }
}

}  // namespace causalctl::callpath
