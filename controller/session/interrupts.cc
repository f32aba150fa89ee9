#include "controller/session/interrupts.h"

#include <csignal>
#include <cstddef>
#include <iterator>

namespace causalctl::session {
namespace {

volatile std::sig_atomic_t interrupts = 0;
int scopes = 0;
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

void on_signal(int /*signal*/) { interrupts = interrupts + 1; }

// The actions of before, in the order of kSignals.
struct sigaction previous[std::size(kSignals)];

// Installs the handlers. A signal that nohup(1) made us ignore stays ignored. SIGINT does not: a
// shell without job control makes whatever it starts with `&` ignore it, but scripts end a profile
// by `kill -INT`.
void install() {
  struct sigaction action {};
  action.sa_handler = on_signal;  // without SA_RESTART, so that a sleep ends at once
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], nullptr, &previous[i]);
    const bool nohup = kSignals[i] == SIGHUP && previous[i].sa_handler == SIG_IGN;
    if (!nohup) sigaction(kSignals[i], &action, nullptr);
  }
}

void restore() {
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], &previous[i], nullptr);
  }
}

}  // namespace

Interrupts::Interrupts() {
  if (scopes++ > 0) return;
  interrupts = 0;
  install();
}

Interrupts::~Interrupts() {
  if (--scopes == 0) restore();
}

int Interrupts::count() { return interrupts; }

}  // namespace causalctl::session
