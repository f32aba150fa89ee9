#include "controller/session/write_or_end.h"

#include "controller/base/error.h"

namespace causalctl::session {

void write_or_end(Recording& run, const std::function<void()>& write) {
  try {
    write();
  } catch (const Error& error) {
    run.reason = EndReason::log_failed;
    if (!run.log_failure.empty()) return;
    run.log_failure = error.what();
    run.warnings.emplace_back(error.what());
  }
}

}  // namespace causalctl::session
