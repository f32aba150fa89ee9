#include "controller/commands/interrupts.h"

#include <csignal>

namespace causalctl::commands {
namespace {

volatile std::sig_atomic_t interrupts = 0;
int scopes = 0;
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

void on_signal(int /*signal*/) { interrupts = interrupts + 1; }

void install(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;  // no SA_RESTART: a sleep ends at once
  for (const int signal : kSignals) sigaction(signal, &action, nullptr);
}

}  // namespace

Interrupts::Interrupts() {
  if (scopes++ > 0) return;
  interrupts = 0;
  install(on_signal);
}

Interrupts::~Interrupts() {
  if (--scopes == 0) install(SIG_DFL);
}

int Interrupts::count() { return interrupts; }

}  // namespace causalctl::commands
