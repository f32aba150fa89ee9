#include "controller/symbols/async_symbolizer.h"

#include <sys/resource.h>

#include <exception>
#include <utility>

#include "controller/base/log.h"
#include "controller/base/thread.h"

namespace causalctl::symbols {
namespace {

// A file that cannot be read must not end the profile, as an exception of the thread would.
template <class Work>
void attempt(Work&& work) {
  try {
    work();
  } catch (const std::exception& error) {
    log::verbose("debug information: {}", error.what());
  }
}

}  // namespace

AsyncSymbolizer::AsyncSymbolizer(std::unique_ptr<unwind::Symbolizer> symbolizer, Wanted wanted,
                                 Haste haste)
    : symbolizer_(std::move(symbolizer)),
      wanted_(std::move(wanted)),
      haste_(haste),
      thread_(start_thread("the debug information", [this] { work(); })) {}

AsyncSymbolizer::~AsyncSymbolizer() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void AsyncSymbolizer::give(Order order) {
  {
    const std::lock_guard lock(mutex_);
    orders_.push_back(std::move(order));
  }
  wake_.notify_one();
}

void AsyncSymbolizer::ask(Address address) { give(address); }

void AsyncSymbolizer::ask_later(const std::function<void(unwind::Symbolizer&)>& job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(job);
  }
  wake_.notify_one();
}

std::vector<Location> AsyncSymbolizer::answers() {
  const std::lock_guard lock(mutex_);
  return std::exchange(answers_, {});
}

std::optional<Location> AsyncSymbolizer::answer_now(Address address) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || busy_ || !orders_.empty()) return std::nullopt;
  return answer(address);
}

std::optional<LineInformation> AsyncSymbolizer::lines() {
  const std::lock_guard lock(mutex_);
  return lines_;
}

// Opens the debug information of all of them, which can take seconds: before the first question,
// since answers need it anyway.
LineInformation AsyncSymbolizer::find_lines() {
  LineInformation found;
  for (const unwind::Module& module : symbolizer_->modules()) {
    if (!wanted_(module)) continue;
    try {
      if (symbolizer_->has_lines(module.start)) {
        found.any = true;
        continue;
      }
    } catch (const std::exception& error) {
      log::verbose("{}: {}", module.path, error.what());
    }
    found.without.push_back(module.path);
  }
  return found;
}

Location AsyncSymbolizer::answer(Address address) {
  Location location{.address = address, .module = {}};
  try {
    locate(location, *symbolizer_, wanted_);
  } catch (const std::exception& error) {  // a broken file must not end the profile of the others
    log::verbose("{:#x}: {}", address, error.what());
  }
  return location;
}

void AsyncSymbolizer::work() {
  if (haste_ == Haste::low_priority) setpriority(PRIO_PROCESS, 0, 10);  // this thread only
  LineInformation found;
  attempt([&] { found = find_lines(); });
  std::unique_lock lock(mutex_);
  lines_ = std::move(found);
  while (true) {
    busy_ = false;
    wake_.wait(lock, [this] { return stop_ || !orders_.empty() || !jobs_.empty(); });
    if (stop_) return;
    busy_ = true;
    std::vector<Order> orders = std::exchange(orders_, {});
    const auto jobs = std::exchange(jobs_, {});
    for (Order& order : orders) {
      if (stop_) return;
      lock.unlock();
      attempt([&] { carry_out(order); });
      lock.lock();
    }
    lock.unlock();
    for (const auto& job : jobs) {
      attempt([&] { job(*symbolizer_); });
    }
    lock.lock();
  }
}

void AsyncSymbolizer::carry_out(Order& order) {
  if (const auto* line = std::get_if<procfs::Map>(&order)) {
    symbolizer_->mapped(*line);
  } else if (auto* maps = std::get_if<std::vector<procfs::Map>>(&order)) {
    symbolizer_->refresh(std::move(*maps));
  } else if (const auto* address = std::get_if<Address>(&order)) {
    Location location = answer(*address);
    const std::lock_guard lock(mutex_);
    answers_.push_back(std::move(location));
  } else {
    symbolizer_->unmap_all();
  }
}

}  // namespace causalctl::symbols
