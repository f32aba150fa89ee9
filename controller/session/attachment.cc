#include "controller/session/attachment.h"

#include <unistd.h>

#include <algorithm>

#include "controller/session/facilities.h"
#include "controller/session/identity.h"

namespace causalctl::session {

Attachment::Attachment(Pid target, tracee::Guardian& guardian, const config::Progress& progress,
                       Recording& recording)
    : target_(target),
      guardian_(guardian),
      recording_(recording),
      symbolizer_(std::make_unique<unwind::Symbolizer>(target)),
      precedence_(target),
      watch_(target),
      points_(target, progress, *symbolizer_, guardian.is_suspended(), recording),
      intervention_(target, guardian, precedence_, recording) {
  identify(target, *symbolizer_, recording);
}

void Attachment::try_facilities(std::string_view wanted) {
  tried_ = session::try_facilities(wanted, "causalctl ab");
  record(tried_, recording_);
}

void Attachment::attach(perf::SessionOptions options) {
  intervention_.begin(points_.places());
  options.ours = {getpid(), guardian_.helper()};
  options.tried = tried_;
  points_.arm(watch_.open(options, recording_));
}

void Attachment::begin_work() {
  watch_.begin_work();
  cpu_limits_.emplace(target_);
}

int Attachment::interrupts() {
  const bool is_unloaded = points_.look_for_unloads();
  const bool must_end = intervention_.must_end() || is_unloaded;
  return std::max<int>(must_end, Watch::interrupts());
}

void Attachment::let_go() {
  if (guardian_.is_suspended()) guardian_.release();
}

void Attachment::detach() {
  watch_.tell_losses("causalctl attach", recording_);
  const auto close_events = [this] {
    watch_.take_events().reset();
    points_.close();
  };
  intervention_.end(close_events, points_.armory().uprobes);
  session::tell_end(guardian_, watch_.end(), recording_);
  precedence_.end();
  recording_.ended = true;
}

}  // namespace causalctl::session
