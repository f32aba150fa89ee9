#include "controller/session/watch.h"

#include <utility>

#include "controller/base/clock.h"
#include "controller/base/procfs.h"
#include "controller/session/facilities.h"
#include "controller/session/losses.h"

namespace causalctl::session {
namespace {

constexpr Nanoseconds kLastRecords = 100 * kMillisecond;

}  // namespace

Watch::Watch(Pid process)
    : is_set_(false),
      process_(process),
      set_(std::make_shared<perf::OneProcess>(process)),
      end_(std::in_place, process),
      first_thread_(process) {}

Watch::Watch(std::shared_ptr<perf::ProcessSet> set, Pid program)
    : is_set_(true), process_(program), set_(std::move(set)) {
  if (program != 0) end_.emplace(program);
}

perf::Session& Watch::open(const perf::SessionOptions& options) {
  events_ = std::make_unique<perf::Session>(set_, options);
  return *events_;
}

perf::Session& Watch::open(const perf::SessionOptions& options, Recording& recording) {
  open(options);
  if (const auto& trial = events_->scheduler_trial()) record({*trial}, recording);
  return *events_;
}

void Watch::begin_work() {
  interrupts_.emplace();
  if (!is_set_) children_.emplace(process_);
}

bool Watch::is_over() {
  if (!events_->target_alive()) return true;
  if (!is_set_ || process_ == 0 || !procfs::has_ended(process_)) return false;
  if (program_over_ns_ == 0) program_over_ns_ = monotonic_now();
  return monotonic_now() - program_over_ns_ > kLastRecords;
}

void Watch::tell_losses(const char* command, Recording& recording) const {
  warn_of_losses(*events_, recording);
  if (!children_) return;
  if (auto text = text_of(children_->seen(), process_, command)) {
    recording.warnings.push_back(std::move(*text));
  }
}

void Watch::learn_end(tracee::Guardian* guardian, Recording& recording) const {
  if (end_) session::learn_end(guardian, *end_, recording);
}

}  // namespace causalctl::session
