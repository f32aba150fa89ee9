// SIGINT and SIGTERM as a request to end: counted, not obeyed by dying, so that every path
// detaches.
#pragma once

namespace causalctl::session {

// Installs the handlers for its lifetime. One within another, in a forked child too, goes on with
// the outer one's count: a request between the two must not be lost. One thread only.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  static int count();
};

}  // namespace causalctl::session
