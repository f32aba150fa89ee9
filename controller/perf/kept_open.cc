#include "controller/perf/kept_open.h"

#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace causalctl::perf {
namespace {

using All = std::vector<std::shared_ptr<void>>;

// They are never destroyed, because threads may outlive them.
std::mutex& lock() {
  static auto& lock = *new std::mutex;
  return lock;
}
All& kept() {
  static auto& kept = *new All;
  return kept;
}

}  // namespace

void keep_open(std::shared_ptr<void> closable) {
  const std::lock_guard guard(lock());
  kept().push_back(std::move(closable));
}

void close_kept(std::function<std::shared_ptr<void>()> hold) {
  All all;
  {
    const std::lock_guard guard(lock());
    all.swap(kept());
  }
  if (all.empty()) return;
  try {
    auto shared = std::make_shared<All>(std::move(all));
    std::thread([shared, hold = std::move(hold)]() mutable {
      const std::shared_ptr<void> held = hold ? hold() : nullptr;
      shared.reset();
    }).detach();
  } catch (const std::system_error&) {  // no thread can be created: it is closed here
    return;
  }
}

}  // namespace causalctl::perf
