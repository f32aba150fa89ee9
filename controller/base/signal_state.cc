#include "controller/base/signal_state.h"

#include <fmt/format.h>

#include <cstring>

namespace causalctl {

std::string name_of_signal(int signal) {
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

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
