#include "controller/base/signal_state.h"

namespace causalctl {

SignalState::SignalState() {
  for (std::size_t i = 0; i < signals_.size(); ++i) sigaction(signals_[i], nullptr, &actions_[i]);
  sigprocmask(SIG_SETMASK, nullptr, &mask_);
}

void SignalState::restore() const {
  for (std::size_t i = 0; i < signals_.size(); ++i) sigaction(signals_[i], &actions_[i], nullptr);
  sigprocmask(SIG_SETMASK, &mask_, nullptr);
}

const SignalState& SignalState::at_start() {
  static const SignalState state;
  return state;
}

}  // namespace causalctl
