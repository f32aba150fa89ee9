// SIGINT and SIGTERM as a request to end: counted, not obeyed by dying, so that every path
// detaches.
#pragma once

namespace causalctl::commands {

// Installs the handlers for its lifetime. Not reentrant: one at a time.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  static int count();
};

}  // namespace causalctl::commands
