// The programs of the scenarios. Times are in milliseconds; lines are in the order of the
// parameters.
#pragma once

#include <vector>

#include "tests/sim/simulate.h"

namespace causalctl::sim {

// Threads of other programs, which the controller does not see. They compute all the time or, if
// `burst_ms` is not 0, for about that long, and then sleep for about as long.
struct Strangers {
  unsigned count = 0;
  double burst_ms = 0;
  double weight = 1;     // for sharing the cores; a thread of the program has 1
  bool limited = false;  // true if the program's quota applies to them
};
Program beside(const Program& program, const Strangers& strangers);

Program serial_chain(double first_ms, double second_ms);
Program barrier(const std::vector<double>& each_ms);  // thread i on line i + 1
Program locked_queue(double producer_ms, double consumer_ms, unsigned capacity);
Program pipe(double producer_ms, double consumer_ms, unsigned capacity);
Program polled_queue(double producer_ms, double consumer_ms);  // line 3 is the empty poll
Program contended_lock(double held_ms, double outside_ms, unsigned threads);
Program convoy(double held_ms, double outside_ms, unsigned threads);
Program nested_locks(double outer_ms, double inner_ms, double outside_ms);
Program decoy();  // a chain of 3 and 7, and a thread on line 3 (90 %) on which nobody waits
// The same, but both signal a thread that logs on line 5, ten times a second, and never wait for
// it.
Program decoy_and_logger();
Program identical_workers(unsigned threads);  // each takes 1 ms, on line 1
Program pool_of(unsigned threads, double first_ms, double second_ms, double held_ms);
Program io_wait(double before_ms, double device_ms, double after_ms);
Program io_barrier(double before_ms, double device_ms, double other_ms);
// Serves one thread at a time.
Program device_bound(double before_ms, double device_ms, unsigned threads);
Program requests(double interval_ms, double first_ms, double second_ms);
// Workers share a queue into which another machine puts requests by its own clock, `at_once` at a
// time, at random times. The interval is the mean between two requests.
Program requests_of_pool(unsigned workers, double interval_ms, double work_ms,
                         unsigned at_once = 1);
// Workers answer clients in another process. A client sends its next request when it has the answer
// and has computed. If `network_ms` > 0, a message takes that long each way.
struct Service {
  unsigned workers = 2;
  double first_ms = 0, second_ms = 0;
  unsigned clients = 8;
  double client_ms = 0;
  double network_ms = 0;
  double housekeeping_ms = 0;  // of a thread that wakes every millisecond
  double after_ms = 0;         // of the first part's code, after the answer has been sent
  bool locked = false;         // housekeeping holds a lock that the workers take for each answer
};
Program service(const Service& options);
Program spinning(double first_ms, double second_ms);  // line 3 is the spinning
Program thread_per_request(double dispatch_ms, double work_ms, unsigned at_once);
// A new thread for each request blocks at once and is handed its work `first_ms` later.
Program new_worker_waits(double first_ms, double second_ms);
Program many_waiting(unsigned threads, double first_ms, double second_ms, double device_ms);
// The same with all threads starting at once.
Program many_in_a_bunch(unsigned threads, double first_ms, double second_ms, double device_ms);

}  // namespace causalctl::sim
