// Counts SIGINT and SIGTERM as requests to end. causalctl does not die of them, so that every path
// detaches.
#pragma once

namespace causalctl::session {

// Installs the handlers for its lifetime. An object made while another one lives, also in a forked
// child, goes on with the outer one's count, so that no request between the two is lost. Use it in
// one thread only.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  static int count();
};

}  // namespace causalctl::session
