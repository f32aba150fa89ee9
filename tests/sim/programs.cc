#include "tests/sim/programs.h"

#include <algorithm>
#include <deque>
#include <memory>

#include "tests/sim/sync.h"

namespace causalctl::sim {
namespace {

Nanoseconds ns(double ms) { return static_cast<Nanoseconds>(ms * kMillisecond); }

void done(Thread& self) { self.visit(kProgressTag); }

Task compute_both(Thread& self, double first_ms, double second_ms) {
  for (;;) {
    co_await self.compute(1, ns(first_ms));
    co_await self.compute(2, ns(second_ms));
    done(self);
  }
}

Task compute_apart(Thread& self, double hot_ms, double rest_ms) {
  for (;;) {
    co_await self.compute(3, ns(hot_ms));
    co_await self.compute(4, ns(rest_ms));
  }
}

Task compute_and_tell(Thread& self, Semaphore* told, Line line, double ms, bool progress) {
  for (unsigned round = 1;; ++round) {
    co_await self.compute(line, ns(ms));
    co_await self.compute(line + 1, ns(ms));
    if (progress) done(self);
    if (round % 10 == 0) told->post(self.machine());
  }
}

Task log_what_is_told(Thread& self, Semaphore* told) {
  for (;;) {
    co_await told->take(self);
    co_await self.compute(5, ns(0.05));
  }
}

Task compute_alike(Thread& self) {
  for (;;) {
    co_await self.compute(1, kMillisecond);
    done(self);
  }
}

Task meet(Thread& self, Barrier* barrier, Line line, double ms) {
  for (;;) {
    co_await self.compute(line, ns(ms));
    co_await barrier->wait(self);
    if (line == 1) done(self);
  }
}

template <typename Queue>
Task produce(Thread& self, Queue* queue, double ms) {
  for (;;) {
    co_await self.compute(1, ns(ms));
    co_await queue->push(self);
  }
}

template <typename Queue>
Task consume(Thread& self, Queue* queue, double ms) {
  for (;;) {
    co_await queue->pop(self);
    co_await self.compute(2, ns(ms));
    done(self);
  }
}

template <typename Queue>
Program queue_program(double producer_ms, double consumer_ms, unsigned capacity) {
  return [=](Machine& machine) {
    auto queue = std::make_shared<Queue>(capacity);
    machine.spawn(produce<Queue>, queue.get(), producer_ms);
    machine.spawn(consume<Queue>, queue.get(), consumer_ms);
    return queue;
  };
}

struct Stock {
  unsigned items = 0;
};

Task stock_up(Thread& self, Stock* stock, double ms) {
  for (;;) {
    co_await self.compute(1, ns(ms));
    ++stock->items;
  }
}

Task poll_stock(Thread& self, Stock* stock, double ms) {
  for (;;) {
    while (stock->items == 0) co_await self.compute(3, ns(0.2));
    --stock->items;
    co_await self.compute(2, ns(ms));
    done(self);
  }
}

template <typename Lock>
Task take_turns(Thread& self, Lock* lock, double held_ms, double outside_ms) {
  for (;;) {
    co_await lock->lock(self);
    co_await self.compute(1, ns(held_ms));
    lock->unlock(self);
    co_await self.compute(2, ns(outside_ms));
    done(self);
  }
}

template <typename Lock>
Program lock_program(double held_ms, double outside_ms, unsigned threads) {
  return [=](Machine& machine) {
    auto lock = std::make_shared<Lock>();
    for (unsigned i = 0; i < threads; ++i) {
      machine.spawn(take_turns<Lock>, lock.get(), held_ms, outside_ms);
    }
    return lock;
  };
}

struct TwoLocks {
  Mutex outer, inner;
};

Task nest(Thread& self, TwoLocks* locks, double outer_ms, double inner_ms, double outside_ms) {
  for (;;) {
    co_await locks->outer.lock(self);
    co_await self.compute(1, ns(outer_ms));
    co_await locks->inner.lock(self);
    co_await self.compute(2, ns(inner_ms));
    locks->outer.unlock(self);
    co_await self.compute(2, ns(inner_ms));
    locks->inner.unlock(self);
    co_await self.compute(3, ns(outside_ms));
    done(self);
  }
}

Task work_in_pool(Thread& self, Mutex* lock, double first_ms, double second_ms, double held_ms) {
  for (;;) {
    co_await self.compute(1, ns(first_ms));
    co_await self.compute(2, ns(second_ms));
    if (held_ms > 0) {
      co_await lock->lock(self);
      co_await self.compute(3, ns(held_ms));
      lock->unlock(self);
    }
    done(self);
  }
}

Task compute_and_wait(Thread& self, double first_ms, double device_ms, double second_ms) {
  for (;;) {
    co_await self.compute(1, ns(first_ms));
    co_await self.device_io(ns(device_ms));
    co_await self.compute(2, ns(second_ms));
    done(self);
  }
}

Task start_later(Thread& self, double most_ms, double first_ms, double device_ms,
                 double second_ms) {
  co_await self.device_io(ns(self.machine().random().uniform(0.01, most_ms)));
  for (;;) {
    co_await self.compute(1, ns(first_ms));
    co_await self.device_io(ns(device_ms));
    co_await self.compute(2, ns(second_ms));
    done(self);
  }
}

Task meet_after_device(Thread& self, Barrier* barrier, double before_ms, double device_ms) {
  for (;;) {
    co_await self.compute(1, ns(before_ms));
    co_await self.device_io(ns(device_ms));
    co_await barrier->wait(self);
    done(self);
  }
}

struct Device {
  Nanoseconds free_at_ns = 0;
};

Task share_device(Thread& self, Device* device, double before_ms, double device_ms) {
  for (;;) {
    co_await self.compute(1, ns(before_ms));
    const Nanoseconds now_ns = self.machine().now();
    device->free_at_ns = std::max(device->free_at_ns, now_ns) + ns(device_ms);
    co_await self.device_io(device->free_at_ns - now_ns);
    done(self);
  }
}

Task serve(Thread& self, double interval_ms, double first_ms, double second_ms) {
  Nanoseconds next_ns = self.machine().now();
  for (;;) {
    next_ns += ns(interval_ms);
    const Nanoseconds until_ns = next_ns - self.machine().now();
    if (until_ns > 0) co_await self.device_io(until_ns);
    co_await self.compute(1, ns(first_ms));
    co_await self.compute(2, ns(second_ms));
    done(self);
  }
}

Task send_by_clock(Thread& self, Semaphore* waiting, double interval_ms, unsigned at_once) {
  Nanoseconds next_ns = self.machine().now();
  for (;;) {
    next_ns += ns(self.machine().random().uniform(0, 2 * interval_ms * at_once));
    const Nanoseconds until_ns = next_ns - self.machine().now();
    if (until_ns > 0) co_await self.device_io(until_ns);
    for (unsigned i = 0; i < at_once; ++i) waiting->post(self.machine());
  }
}

Task answer_whoever_waits(Thread& self, Semaphore* waiting, double work_ms) {
  for (;;) {
    co_await waiting->take(self);
    co_await self.compute(1, ns(work_ms));
    done(self);
  }
}

struct Client {
  Semaphore answers{0};
};

struct Inbox {
  std::deque<Client*> requests;
  Semaphore filled{0};
};

struct ServiceState {
  Service options;
  Mutex lock;
  std::deque<Inbox> inboxes;
  std::deque<Client> clients;
};

Task answer_requests(Thread& self, Inbox* inbox, Mutex* lock, const Service* options) {
  for (;;) {
    co_await inbox->filled.take(self);
    Client* client = inbox->requests.front();
    inbox->requests.pop_front();
    co_await self.compute(1, ns(options->first_ms));
    if (lock != nullptr) co_await lock->lock(self);
    co_await self.compute(2, ns(options->second_ms));
    if (lock != nullptr) lock->unlock(self);
    done(self);
    client->answers.post(self.machine());
    if (options->after_ms > 0) co_await self.compute(1, ns(options->after_ms));
  }
}

Task send_requests(Thread& self, Inbox* inbox, Client* client, double client_ms,
                   double network_ms) {
  for (;;) {
    co_await self.compute(3, ns(client_ms));
    if (network_ms > 0) co_await self.device_io(ns(network_ms));
    inbox->requests.push_back(client);
    inbox->filled.post(self.machine());
    co_await client->answers.take(self);
  }
}

Task keep_house(Thread& self, Mutex* lock, double ms) {
  for (;;) {
    co_await self.device_io(kMillisecond);
    if (lock != nullptr) co_await lock->lock(self);
    co_await self.compute(4, ns(ms));
    if (lock != nullptr) lock->unlock(self);
  }
}

struct TwoFlags {
  SpinFlag flags[2];
};

Task spin_rounds(Thread& self, TwoFlags* shared, unsigned me, double ms) {
  for (std::uint64_t round = 1;; ++round) {
    co_await self.compute(me + 1, ns(ms));
    shared->flags[me].raise(self.machine());
    co_await shared->flags[1 - me].reach(self, 3, round);
    if (me == 0) done(self);
  }
}

Task handle_request(Thread& self, Semaphore* room, double work_ms) {
  co_await self.compute(2, ns(work_ms));
  done(self);
  room->post(self.machine());
}

Task dispatch_requests(Thread& self, Semaphore* room, double dispatch_ms, double work_ms) {
  for (;;) {
    co_await self.compute(1, ns(dispatch_ms));
    co_await room->take(self);
    self.machine().spawn(handle_request, room, work_ms);
  }
}

struct Errand {
  Semaphore given{0}, done{0};
};

Task run_errand(Thread& self, Errand* errand, double ms) {
  co_await errand->given.take(self);
  co_await self.compute(2, ns(ms));
  errand->done.post(self.machine());
}

Task give_errands(Thread& self, Errand* errand, double first_ms, double second_ms) {
  for (;;) {
    self.machine().spawn(run_errand, errand, second_ms);
    co_await self.compute(1, ns(first_ms));
    errand->given.post(self.machine());
    co_await errand->done.take(self);
    done(self);
  }
}

// No scenario asks about this line.
constexpr Line kOutside = 99;

Task keep_busy(Thread& self, double burst_ms) {
  const auto about = [&self, burst_ms] {
    return ns(burst_ms * self.machine().random().exponential()) + 10 * kMicrosecond;
  };
  for (;;) {
    co_await self.compute(kOutside, burst_ms > 0 ? about() : 10 * kMillisecond);
    if (burst_ms > 0) co_await self.device_io(about());
  }
}

}  // namespace

Program beside(const Program& program, const Strangers& strangers) {
  return [=](Machine& machine) {
    for (unsigned i = 0; i < strangers.count; ++i) {
      Thread& stranger = machine.spawn_foreign(false, keep_busy, strangers.burst_ms);
      machine.set_weight(stranger, strangers.weight);
      if (strangers.limited) machine.limit(stranger);
    }
    return program(machine);
  };
}

Program serial_chain(double first_ms, double second_ms) {
  return [=](Machine& machine) {
    machine.spawn(compute_both, first_ms, second_ms);
    return nullptr;
  };
}

Program barrier(const std::vector<double>& each_ms) {
  return [=](Machine& machine) {
    auto shared = std::make_shared<Barrier>(static_cast<unsigned>(each_ms.size()));
    for (Line line = 1; line <= each_ms.size(); ++line) {
      machine.spawn(meet, shared.get(), line, each_ms[line - 1]);
    }
    return shared;
  };
}

Program locked_queue(double producer_ms, double consumer_ms, unsigned capacity) {
  return queue_program<LockedQueue>(producer_ms, consumer_ms, capacity);
}

Program pipe(double producer_ms, double consumer_ms, unsigned capacity) {
  return queue_program<Pipe>(producer_ms, consumer_ms, capacity);
}

Program polled_queue(double producer_ms, double consumer_ms) {
  return [=](Machine& machine) {
    auto stock = std::make_shared<Stock>();
    machine.spawn(stock_up, stock.get(), producer_ms);
    machine.spawn(poll_stock, stock.get(), consumer_ms);
    return stock;
  };
}

Program contended_lock(double held_ms, double outside_ms, unsigned threads) {
  return lock_program<Mutex>(held_ms, outside_ms, threads);
}

Program convoy(double held_ms, double outside_ms, unsigned threads) {
  return lock_program<FairMutex>(held_ms, outside_ms, threads);
}

Program nested_locks(double outer_ms, double inner_ms, double outside_ms) {
  return [=](Machine& machine) {
    auto locks = std::make_shared<TwoLocks>();
    for (int i = 0; i < 3; ++i) {
      machine.spawn(nest, locks.get(), outer_ms, inner_ms, outside_ms);
    }
    return locks;
  };
}

Program decoy() {
  return [](Machine& machine) {
    machine.spawn(compute_both, 3.0, 7.0);
    machine.spawn(compute_apart, 0.9, 0.1);
    return nullptr;
  };
}

Program decoy_and_logger() {
  return [](Machine& machine) {
    auto told = std::make_shared<Semaphore>(0);
    machine.spawn(compute_and_tell, told.get(), Line{1}, 5.0, true);
    machine.spawn(compute_and_tell, told.get(), Line{3}, 5.0, false);
    machine.spawn(log_what_is_told, told.get());
    return told;
  };
}

Program identical_workers(unsigned threads) {
  return [=](Machine& machine) {
    for (unsigned i = 0; i < threads; ++i) machine.spawn(compute_alike);
    return nullptr;
  };
}

Program pool_of(unsigned threads, double first_ms, double second_ms, double held_ms) {
  return [=](Machine& machine) {
    auto lock = std::make_shared<Mutex>();
    for (unsigned i = 0; i < threads; ++i) {
      machine.spawn(work_in_pool, lock.get(), first_ms, second_ms, held_ms);
    }
    return lock;
  };
}

Program io_wait(double before_ms, double device_ms, double after_ms) {
  return [=](Machine& machine) {
    machine.spawn(compute_and_wait, before_ms, device_ms, after_ms);
    return nullptr;
  };
}

Program io_barrier(double before_ms, double device_ms, double other_ms) {
  return [=](Machine& machine) {
    auto shared = std::make_shared<Barrier>(2);
    machine.spawn(meet_after_device, shared.get(), before_ms, device_ms);
    machine.spawn(meet, shared.get(), Line{2}, other_ms);
    return shared;
  };
}

Program device_bound(double before_ms, double device_ms, unsigned threads) {
  return [=](Machine& machine) {
    auto device = std::make_shared<Device>();
    for (unsigned i = 0; i < threads; ++i) {
      machine.spawn(share_device, device.get(), before_ms, device_ms);
    }
    return device;
  };
}

Program requests(double interval_ms, double first_ms, double second_ms) {
  return [=](Machine& machine) {
    machine.spawn(serve, interval_ms, first_ms, second_ms);
    return nullptr;
  };
}

Program requests_of_pool(unsigned workers, double interval_ms, double work_ms, unsigned at_once) {
  return [=](Machine& machine) {
    auto waiting = std::make_shared<Semaphore>(0);
    for (unsigned i = 0; i < workers; ++i) {
      machine.spawn(answer_whoever_waits, waiting.get(), work_ms);
    }
    machine.spawn_foreign(false, send_by_clock, waiting.get(), interval_ms, at_once);
    return waiting;
  };
}

Program service(const Service& options) {
  return [=](Machine& machine) {
    auto state = std::make_shared<ServiceState>();
    state->options = options;
    Mutex* lock = options.locked ? &state->lock : nullptr;
    for (unsigned i = 0; i < options.workers; ++i) {
      Inbox& inbox = state->inboxes.emplace_back();
      machine.spawn(answer_requests, &inbox, lock, &state->options);
    }
    if (options.housekeeping_ms > 0) machine.spawn(keep_house, lock, options.housekeeping_ms);
    for (unsigned i = 0; i < options.clients; ++i) {
      const bool same_machine = options.network_ms == 0;
      machine.spawn_foreign(same_machine, send_requests, &state->inboxes[i % options.workers],
                            &state->clients.emplace_back(), options.client_ms, options.network_ms);
    }
    return state;
  };
}

Program spinning(double first_ms, double second_ms) {
  return [=](Machine& machine) {
    auto shared = std::make_shared<TwoFlags>();
    machine.spawn(spin_rounds, shared.get(), 0U, first_ms);
    machine.spawn(spin_rounds, shared.get(), 1U, second_ms);
    return shared;
  };
}

Program thread_per_request(double dispatch_ms, double work_ms, unsigned at_once) {
  return [=](Machine& machine) {
    auto room = std::make_shared<Semaphore>(at_once);
    machine.spawn(dispatch_requests, room.get(), dispatch_ms, work_ms);
    return room;
  };
}

Program new_worker_waits(double first_ms, double second_ms) {
  return [=](Machine& machine) {
    auto errand = std::make_shared<Errand>();
    machine.spawn(give_errands, errand.get(), first_ms, second_ms);
    return errand;
  };
}

Program many_in_a_bunch(unsigned threads, double first_ms, double second_ms, double device_ms) {
  return [=](Machine& machine) {
    for (unsigned i = 0; i < threads; ++i) {
      machine.spawn(compute_and_wait, first_ms, device_ms, second_ms);
    }
    return nullptr;
  };
}

Program many_waiting(unsigned threads, double first_ms, double second_ms, double device_ms) {
  return [=](Machine& machine) {
    const double cycle_ms = first_ms + device_ms + second_ms;
    for (unsigned i = 0; i < threads; ++i) {
      machine.spawn(start_later, cycle_ms, first_ms, device_ms, second_ms);
    }
    return nullptr;
  };
}

}  // namespace causalctl::sim
