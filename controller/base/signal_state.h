// How a process treats signals, which a program that it starts inherits.
#pragma once

#include <array>
#include <csignal>
#include <string>

namespace causalctl {

std::string name_of_signal(int signal);  // "SIGSEGV", or "signal 37" if it has no name

class SignalState {
 public:
  SignalState();         // as it is now
  void restore() const;  // async-signal-safe

  // The state when this was first called: main() calls it before it changes anything, so that a
  // program that we start inherits what we inherited (`nohup`, a service without SIGPIPE).
  static const SignalState& at_start();

 private:
  static constexpr std::array signals_{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ, SIGCHLD};
  std::array<struct sigaction, signals_.size()> actions_{};
  sigset_t mask_{};
};

}  // namespace causalctl
