#include "controller/perf/task_records.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <thread>
#include <variant>

#include "controller/perf/attrs.h"
#include "controller/perf/ring_sizes.h"

namespace causalctl::perf {
namespace {

constexpr std::size_t kPages = 64;  // of a core: some 3,000 records, or 40 starts of programs

}  // namespace

TaskRecords::TaskRecords(std::size_t lockable) {
  const auto cores = static_cast<std::size_t>(std::max(1L, sysconf(_SC_NPROCESSORS_CONF)));
  const std::size_t share = lockable == kAnyMemory ? kPages : lockable / 16 / cores;
  const auto pages = std::bit_floor(std::clamp<std::size_t>(share, 1, kPages));
  for (std::size_t number = 0; number < cores; ++number) {
    auto event = EventFd::open_on_core(bookkeeping_attr(false), static_cast<int>(number),
                                       "bookkeeping of a core");
    if (!event) continue;  // it is offline
    Ring ring(event->map_ring(static_cast<unsigned>(pages)));
    cores_.push_back({std::move(*event), std::move(ring)});
  }
}

bool TaskRecords::work() {
  start();
  Tid born = 0;
  std::thread([&born] { born = gettid(); }).join();
  for (const Core& core : cores_) core.event.disable();
  bool told = false;
  read([&](const Record& record) {
    const auto* fork = std::get_if<ForkRecord>(&record);
    if (fork != nullptr && fork->tid == born) told = true;
  });
  return told;
}

void TaskRecords::start() {
  for (const Core& core : cores_) core.event.enable();
}

}  // namespace causalctl::perf
