#include "controller/symbols/mappings.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "controller/base/clock.h"
#include "unwind/modules/vdso.h"

namespace causalctl::symbols {
namespace {

constexpr Nanoseconds kReadEvery = kSecond;  // at most
constexpr int kMostReadings = 5;
constexpr std::size_t kMostRecent = 256;
constexpr Nanoseconds kLatestExec = kSecond;                // of which it is told
constexpr Nanoseconds kLongestUntold = 100 * kMillisecond;  // after an exec

bool same_code(const std::vector<procfs::Map>& a, const std::vector<procfs::Map>& b) {
  const auto lines = [](const std::vector<procfs::Map>& maps) {
    std::vector<std::tuple<Address, Address, std::uint64_t, std::uint64_t, std::string>> all;
    for (const procfs::Map& map : maps) {
      if (map.executable) all.emplace_back(map.start, map.end, map.offset, map.inode, map.path);
    }
    return all;
  };
  return lines(a) == lines(b);
}

}  // namespace

procfs::Map line_of(const perf::MapEvent& event) {
  procfs::Map line;
  line.start = event.start;
  line.end = event.start + event.length;
  line.readable = line.executable = true;
  line.offset = event.file_offset;
  line.device = event.device;
  line.inode = event.inode;
  if (event.inode != 0 || event.path == unwind::kVdso) line.path = event.path;
  return line;
}

void Mappings::read() {
  Snapshot fresh;
  fresh.begin_ns = monotonic_now();
  fresh.maps = procfs::maps(target_).value_or(std::vector<procfs::Map>());
  // What is read twice was so at the time between.
  for (int i = 0; i < kMostReadings; ++i) {
    fresh.end_ns = monotonic_now();
    auto again = procfs::maps(target_).value_or(std::vector<procfs::Map>());
    if (same_code(fresh.maps, again)) {
      fresh.begin_ns = fresh.end_ns;
      break;
    }
    fresh.begin_ns = fresh.end_ns;
    fresh.maps = std::move(again);
    fresh.end_ns = monotonic_now();
  }
  if (fresh.maps.empty()) return;  // the target is gone
  if (known_from_ns_ == 0) known_from_ns_ = fresh.end_ns;
  snapshot_ = std::move(fresh);
  is_due_ = false;
}

void Mappings::begin_like(const Mappings& parent, Nanoseconds born_ns) {
  lost_ = parent.lost_;
  is_due_ = parent.is_due_ || parent.snapshot_ || parent.untold_since_ns_ != 0;
  if (parent.known_from_ns_ != 0) known_from_ns_ = std::max(parent.known_from_ns_, born_ns);
}

void Mappings::lost(std::uint64_t records, Nanoseconds now_ns) {
  is_due_ = is_due_ || records != lost_;
  lost_ = records;
  is_due_ = is_due_ || (untold_since_ns_ != 0 && now_ns - untold_since_ns_ > kLongestUntold);
  if (!is_due_ || now_ns < next_ns_) return;
  next_ns_ = now_ns + kReadEvery;
  read();
}

void Mappings::take(const perf::Event& event) {
  const Nanoseconds time_ns = perf::time_of(event);
  const auto* map = std::get_if<perf::MapEvent>(&event);
  const bool is_exec = std::holds_alternative<perf::ExecEvent>(event);
  if (snapshot_ && (map != nullptr || is_exec) && time_ns >= snapshot_->begin_ns &&
      time_ns <= snapshot_->end_ns) {
    snapshot_.reset();  // it may have this mapping, or not
    is_due_ = true;
  }
  if (snapshot_ && time_ns > snapshot_->end_ns) {
    if (untold_since_ns_ != 0) unmap_all();
    for (MappingFollower* each : followers_) each->take(snapshot_->maps);
    counts_from_ns_ = snapshot_->end_ns;
    snapshot_.reset();
  }
  if (map != nullptr) {
    tell(*map);
  } else if (is_exec) {
    executed(time_ns);
  }
}

const perf::MapEvent* Mappings::first_file_since(Nanoseconds exec_ns) const {
  const perf::MapEvent* first = nullptr;
  for (const perf::MapEvent& each : recent_) {
    if (each.inode == 0 || each.time_ns < exec_ns) continue;
    if (first == nullptr || each.time_ns < first->time_ns) first = &each;
  }
  return first;
}

void Mappings::tell(const perf::MapEvent& event) {
  if (untold_since_ns_ != 0) unmap_all();
  for (MappingFollower* each : followers_) each->mapped(event);
  std::erase_if(recent_, [&](const perf::MapEvent& each) {
    return event.time_ns - each.time_ns > kLatestExec;
  });
  if (recent_.size() == kMostRecent) recent_.erase(recent_.begin());
  recent_.push_back(event);
}

void Mappings::executed(Nanoseconds time_ns) {
  if (time_ns <= counts_from_ns_) return;  // what was read is of this program, or a later one
  if (known_from_ns_ == 0) known_from_ns_ = time_ns;
  untold_since_ns_ = time_ns;
  std::erase_if(recent_, [&](const perf::MapEvent& each) { return each.time_ns < time_ns; });
  if (recent_.empty()) return;
  unmap_all();
  for (const perf::MapEvent& event : recent_) {
    for (MappingFollower* each : followers_) each->mapped(event);
  }
}

void Mappings::unmap_all() {
  untold_since_ns_ = 0;
  for (MappingFollower* each : followers_) each->unmap_all();
}

}  // namespace causalctl::symbols
